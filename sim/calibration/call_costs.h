#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/topology/hardware.h"
#include "proto/calibration/calibration.h"
#include "sim/capacity/pool_config.h"

// What a calibration says of a call, as the capacity runs take it. The fit to the measured
// workloads and every run with calibrated costs go through here, so that both mean the same by
// them.

namespace larder::sim {

// What a call costs as numbers, in the order of cost_names.
using CostValues = std::array<double, cost_names.size()>;

// Where in the intervals of the figures: at their values, or at the ends where each step takes
// least or most.
enum class CostsAt : std::uint8_t { value, fastest, slowest };
std::optional<CostsAt> costs_at_named(std::string_view name);
std::string_view costs_at_name(CostsAt at);  // "value", "fastest", "slowest"

CostValues values_of(const CallCosts& costs, CostsAt at = CostsAt::value);
// The place of one in the order.
std::size_t cost_index(Figure CallCosts::* member);

// Over TCP, and within a process: all of it. What no calibration tells stays as it is by default.
PoolCosts pool_costs(const CostValues& values);
// Over verbs: the calls, which go over TCP too, but not what the bytes take.
PoolCosts call_costs_alone(const CostValues& values);
// What the bytes of one host take over TCP: the fabric starts no work request, and the last byte
// wakes the other side like a message.
void set_tcp_costs(TransferCosts& costs, const CostValues& values);

}  // namespace larder::sim
