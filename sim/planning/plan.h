#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "sim/planning/run.h"
#include "sim/planning/setting.h"

namespace larder::sim {

// What a deployment must reach: "ttft_p90<2s", "hit_ratio>0.4".
struct Slo {
  enum class Metric : std::uint8_t { ttft_mean, ttft_p50, ttft_p90, ttft_p99, hit_ratio };
  Metric metric = Metric::ttft_p90;
  double bound = 0;  // seconds, or a ratio: at most of a time, at least of a ratio
  std::string text;  // as it was written
};
// Errors: invalid_params, with what can be written.
Result<Slo> parse_slo(std::string_view text);
std::string_view metric_name(Slo::Metric metric);

// Of the requests that arrived from `since` on, by whole intervals; nothing where there is no data.
std::optional<double> measured(const Run& run, Slo::Metric metric, Duration since);
// All were met, and every request was completed.
bool meets(const Run& run, const std::vector<Slo>& slos, Duration since);

// What the hosts in use (by an engine or a node) cost. Errors: not_supported, which names a kind of
// host in use without a price; those of Setting::check() and place().
struct Cost {
  std::size_t hosts = 0;
  double per_hour = 0;
};
Result<Cost> cost_of(const Setting& setting);

// Settings with fewer machines than the setting has: 1, 2 ... of its hosts with GPUs, all of whose
// GPUs serve, and none, some or all of those without; a node on each host without GPUs, or where
// there is none on each with. At most `counts_max` different counts of each kind.
// Errors: invalid_params, where there are several kinds of host with GPUs, or several without, or
// an engine has no GPU.
Result<std::vector<Setting>> smaller_fleets(const Setting& setting, std::uint32_t counts_max);

// Which points no other one beats in both: is cheaper and has more, or costs the same and has more,
// or is cheaper and has as much. In the order given.
struct CostPoint {
  double cost = 0;
  double worth = 0;  // more is better
};
std::vector<bool> on_frontier(const std::vector<CostPoint>& points);

}  // namespace larder::sim
