#include "sim/planning/plan.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <system_error>
#include <utility>

#include "core/base/duration_text.h"
#include "core/base/printable.h"
#include "sim/planning/placement.h"
#include "sim/planning/run_tables.h"

#pragma STDC FP_CONTRACT OFF

namespace larder::sim {
namespace {

constexpr std::array<std::string_view, 5> metrics{"ttft_mean", "ttft_p50", "ttft_p90", "ttft_p99",
                                                  "hit_ratio"};

double quantile_of(Slo::Metric metric) {
  if (metric == Slo::Metric::ttft_p50) return 0.5;
  return metric == Slo::Metric::ttft_p90 ? 0.9 : 0.99;
}

// 1, 2 ... `most`, or as many of them with equal steps between, `most` among them.
std::vector<std::uint32_t> counts_up_to(std::uint32_t most, std::uint32_t counts_max) {
  std::vector<std::uint32_t> counts;
  const std::uint32_t steps = std::min(most, counts_max);
  for (std::uint32_t step = 1; step <= steps; ++step) {
    counts.push_back(static_cast<std::uint32_t>(std::uint64_t{most} * step / steps));
  }
  return counts;
}

std::uint32_t gpus_of(const HardwareHost& host) {
  return static_cast<std::uint32_t>(
      std::ranges::count(host.parts, PartKind::gpu, &HardwarePart::kind));
}

}  // namespace

std::string_view metric_name(Slo::Metric metric) {
  return metrics[static_cast<std::size_t>(metric)];
}

Result<Slo> parse_slo(std::string_view text) {
  const auto wrong = [&](std::string_view what) {
    return failed(ErrorCode::invalid_params,
                  in_quotes(text) + " is no objective: " + std::string(what) +
                      "; such as ttft_p90<2s or hit_ratio>0.4, of ttft_mean, ttft_p50, ttft_p90, "
                      "ttft_p99 and hit_ratio");
  };
  const std::size_t sign = text.find_first_of("<>");
  if (sign == std::string_view::npos) return wrong("it has no < and no >");
  const auto* metric = std::ranges::find(metrics, text.substr(0, sign));
  if (metric == metrics.end()) return wrong("it is of nothing that is measured");
  Slo slo{.metric = static_cast<Slo::Metric>(metric - metrics.begin()), .text = std::string(text)};
  const std::string_view bound = text.substr(sign + 1);
  const bool ratio = slo.metric == Slo::Metric::hit_ratio;
  if (ratio != (text[sign] == '>')) return wrong("times are to be below, ratios above");
  if (ratio) {
    const auto [end, error] = std::from_chars(bound.data(), bound.data() + bound.size(), slo.bound);
    if (error != std::errc() || end != bound.data() + bound.size() || !(slo.bound >= 0) ||
        slo.bound > 1) {
      return wrong("a ratio is from 0 to 1");
    }
    return slo;
  }
  const auto time = parse_duration(bound);
  if (!time) return wrong(time.error().facts().detail);
  slo.bound = seconds_of(*time);
  return slo;
}

std::optional<double> measured(const Run& run, Slo::Metric metric, Duration since) {
  Interval all;
  Instant begin{};
  for (const Interval& interval : run.intervals) {
    if (begin - Instant{} >= since) all.extend(interval);
    begin = interval.end;
  }
  if (metric == Slo::Metric::hit_ratio) {
    if (all.blocks == 0) return std::nullopt;
    return static_cast<double>(all.hits()) / static_cast<double>(all.blocks);
  }
  if (all.ttft.count() == 0) return std::nullopt;
  if (metric == Slo::Metric::ttft_mean) {
    return seconds_of(all.ttft.sum()) / static_cast<double>(all.ttft.count());
  }
  return seconds_of(all.ttft.quantile(quantile_of(metric)));
}

bool meets(const Run& run, const std::vector<Slo>& slos, Duration since) {
  if (run.totals.completed() != run.totals.arrived) return false;
  return std::ranges::all_of(slos, [&](const Slo& slo) {
    const auto value = measured(run, slo.metric, since);
    if (!value) return false;
    return slo.metric == Slo::Metric::hit_ratio ? *value >= slo.bound : *value <= slo.bound;
  });
}

Result<Cost> cost_of(const Setting& setting) {
  LARDER_CHECK(setting.check());
  LARDER_TRY(const Hardware machines, setting.machines());
  LARDER_TRY(const Topology topology, Topology::make(machines));
  LARDER_TRY(const Placement placement, place(setting, topology));
  std::set<std::uint32_t> hosts;
  for (const Placement::Engine& engine : placement.engines) hosts.insert(engine.host);
  for (const Placement::Node& node : placement.nodes) hosts.insert(node.host);
  Cost cost{.hosts = hosts.size()};
  for (const std::uint32_t host : hosts) {
    const HardwareHost& kind = topology.hardware_of(host);
    if (!kind.price_per_hour) {
      return failed(ErrorCode::not_supported,
                    "the hosts " + in_quotes(kind.name) +
                        " have no price: give price_per_hour in the hardware file, or --price " +
                        kind.name + "=AMOUNT");
    }
    cost.per_hour += *kind.price_per_hour;
  }
  return cost;
}

Result<std::vector<Setting>> smaller_fleets(const Setting& setting, std::uint32_t counts_max) {
  if (setting.gpus_per_engine == 0) {
    return failed(ErrorCode::invalid_params, "gpus-per-engine is 0; it must be at least 1");
  }
  LARDER_TRY(const Hardware machines, setting.machines());
  std::optional<std::size_t> with_gpus;
  std::optional<std::size_t> without;
  for (std::size_t kind = 0; kind < machines.hosts.size(); ++kind) {
    std::optional<std::size_t>& of = gpus_of(machines.hosts[kind]) > 0 ? with_gpus : without;
    if (of) {
      return failed(ErrorCode::invalid_params,
                    "the cluster has several kinds of host with GPUs, or several without: say "
                    "what may vary with --vary");
    }
    of = kind;
  }
  if (!with_gpus) return failed(ErrorCode::invalid_params, "the cluster has no GPUs");
  const HardwareHost& gpu_host = machines.hosts[*with_gpus];
  std::vector<std::uint32_t> others{0};
  if (without) {
    const auto counts = counts_up_to(machines.hosts[*without].count, counts_max);
    others.insert(others.end(), counts.begin(), counts.end());
  }
  std::vector<Setting> fleets;
  for (const std::uint32_t gpu_hosts : counts_up_to(gpu_host.count, counts_max)) {
    for (const std::uint32_t other : others) {
      Setting& fleet = fleets.emplace_back(setting);
      fleet.hosts = 0;
      fleet.hardware = {.hosts = {gpu_host}, .network = machines.network};
      fleet.hardware.hosts.front().count = gpu_hosts;
      if (other > 0) {
        fleet.hardware.hosts.push_back(machines.hosts[*without]);
        fleet.hardware.hosts.back().count = other;
      }
      fleet.engines = gpu_hosts * (gpus_of(gpu_host) / setting.gpus_per_engine);
      fleet.nodes = other > 0 ? other : gpu_hosts;
    }
  }
  return fleets;
}

std::vector<bool> on_frontier(const std::vector<CostPoint>& points) {
  std::vector<bool> frontier;
  for (const CostPoint& point : points) {
    frontier.push_back(std::ranges::none_of(points, [&](const CostPoint& other) {
      return other.cost <= point.cost && other.worth >= point.worth &&
             (other.cost < point.cost || other.worth > point.worth);
    }));
  }
  return frontier;
}

}  // namespace larder::sim
