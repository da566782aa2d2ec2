#include "sim/planning/spread.h"

#include <algorithm>
#include <string_view>
#include <utility>

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
    if (seeds_ == 0) {
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
  ++seeds_;
}

}  // namespace larder::sim
