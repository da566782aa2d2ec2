#include "sim/calibration/call_costs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#pragma STDC FP_CONTRACT OFF

namespace larder::sim {
namespace {

constexpr std::array<std::pair<std::string_view, CostsAt>, 3> names{{
    {"value", CostsAt::value},
    {"fastest", CostsAt::fastest},
    {"slowest", CostsAt::slowest},
}};

Duration rounded(double nanoseconds) {
  return Duration(static_cast<std::int64_t>(std::llround(nanoseconds)));
}
Duration cost(const CostValues& values, Figure CallCosts::* member) {
  return rounded(values[cost_index(member)]);
}

}  // namespace

std::optional<CostsAt> costs_at_named(std::string_view name) {
  const auto* const found =
      std::ranges::find(names, name, [](const auto& each) { return each.first; });
  if (found == names.end()) return std::nullopt;
  return found->second;
}

std::string_view costs_at_name(CostsAt at) {
  return std::ranges::find(names, at, [](const auto& each) { return each.second; })->first;
}

std::size_t cost_index(Figure CallCosts::* member) {
  const auto* found = std::ranges::find_if(
      cost_names, [member](const auto& each) { return each.second == member; });
  return static_cast<std::size_t>(found - cost_names.begin());
}

CostValues values_of(const CallCosts& costs, CostsAt at) {
  CostValues values{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto member = cost_names[i].second;
    const Figure& figure = costs.*member;
    // A rate is fast where it is high, a time where it is low.
    const bool low = (at == CostsAt::fastest) != (member == &CallCosts::thread_rate);
    values[i] = static_cast<double>(at == CostsAt::value ? figure.value
                                    : low                ? figure.low
                                                         : figure.high);
  }
  return values;
}

PoolCosts call_costs_alone(const CostValues& values) {
  PoolCosts costs;
  costs.message = cost(values, &CallCosts::message);
  costs.request = cost(values, &CallCosts::request);
  costs.lookup = cost(values, &CallCosts::lookup);
  costs.existence = cost(values, &CallCosts::existence);
  costs.put_start = cost(values, &CallCosts::put_start);
  costs.put_end = cost(values, &CallCosts::put_end);
  costs.node_request = cost(values, &CallCosts::node_request);
  costs.client_request = cost(values, &CallCosts::client_request);
  costs.client_item = cost(values, &CallCosts::client_item);
  costs.hand_over = cost(values, &CallCosts::hand_over);
  return costs;
}

PoolCosts pool_costs(const CostValues& values) {
  PoolCosts costs = call_costs_alone(values);
  costs.client_read_item = cost(values, &CallCosts::client_get);
  costs.client_put_item = cost(values, &CallCosts::client_put);
  costs.node_extent = cost(values, &CallCosts::node_read);
  costs.node_fill = cost(values, &CallCosts::node_fill);
  costs.fill_each_mib = cost(values, &CallCosts::fill_mib);
  costs.cold_each_mib = cost(values, &CallCosts::cold_mib);
  costs.warm_bytes = larder::warm_bytes;
  return costs;
}

void set_tcp_costs(TransferCosts& costs, const CostValues& values) {
  costs.posting = Duration(0);
  costs.completion = cost(values, &CallCosts::message);
  costs.tcp_per_second = {
      static_cast<std::uint64_t>(std::max(1.0, values[cost_index(&CallCosts::thread_rate)]))};
}

}  // namespace larder::sim
