#include "sim/planning/spread.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "core/base/assert.h"
#include "sim/planning/run_tables.h"

namespace larder::sim {
namespace {

std::vector<std::pair<std::string_view, std::optional<double>>> figures_of(const Run& run) {
  std::optional<double> saved;
  if (run.saved) saved = seconds_of(run.saved->pool);
  return {{"hit_ratio", run.totals.hit_ratio()},
          {"pool_hits", static_cast<double>(run.totals.pool_hits)},
          {"ttft_mean_s", run.ttft_mean_s()},
          {"ttft_p50_s", run.ttft_s(0.5)},
          {"ttft_p90_s", run.ttft_s(0.9)},
          {"ttft_p99_s", run.ttft_s(0.99)},
          {"saved_gpu_s_by_pool", saved},
          {"load", run.pressure.load}};
}

}  // namespace

void Spread::add(const Run& run) {
  const auto figures = figures_of(run);
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const auto& [name, value] = figures[i];
    if (runs_ == 0) {
      figures_.push_back({.name = std::string(name), .least = value, .most = value});
      continue;
    }
    Figure& figure = figures_[i];
    if (!value || !figure.least) {
      figure.least = figure.most = std::nullopt;
    } else {
      figure.least = std::min(*figure.least, *value);
      figure.most = std::max(*figure.most, *value);
    }
  }
  ++runs_;
  seeds_.insert(run.setting.seed);
}

const Spread::Figure& Spread::figure(std::string_view name) const {
  const auto found = std::ranges::find(figures_, name, &Figure::name);
  LARDER_ASSERT(found != figures_.end());
  return *found;
}

nlohmann::ordered_json Spread::json() const {
  if (runs_ == 0) return {};
  const auto maybe = [](std::optional<double> value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
  };
  nlohmann::ordered_json object{{"seeds", seeds()}, {"runs", runs_}};
  for (const Figure& figure : figures_) {
    object[figure.name] = {{"least", maybe(figure.least)}, {"most", maybe(figure.most)}};
  }
  return object;
}

std::vector<Setting> at_the_ends(const Setting& setting) {
  if (!setting.calibrated || setting.costs_at != CostsAt::value) return {};
  std::vector<Setting> ends(2, setting);
  ends[0].costs_at = CostsAt::fastest;
  ends[1].costs_at = CostsAt::slowest;
  return ends;
}

}  // namespace larder::sim
