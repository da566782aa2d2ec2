#pragma once

#include "proto/calibration/calibration.h"
#include "sim/calibration/simulated_workload.h"

namespace larder::sim {

// A machine of two cores, and what calls cost there.
inline Hardware machine_of(std::uint32_t cores) {
  Hardware hardware = hardware_preset("cpu-1x25").value();
  hardware.hosts[0].count = 1;
  hardware.hosts[0].cores = cores;
  return hardware;
}

inline CallCosts round_call_costs() {
  CallCosts costs;
  const auto set = [&](Figure CallCosts::* member, std::uint64_t value) {
    costs.*member = {.value = value, .low = value, .high = value};
  };
  set(&CallCosts::hand_over, 10'000);
  set(&CallCosts::message, 5'000);
  set(&CallCosts::request, 4'000);
  set(&CallCosts::lookup, 500);
  set(&CallCosts::existence, 300);
  set(&CallCosts::put_start, 800);
  set(&CallCosts::put_end, 800);
  set(&CallCosts::node_request, 6'000);
  set(&CallCosts::node_read, 1'000);
  set(&CallCosts::node_fill, 1'500);
  set(&CallCosts::client_request, 8'000);
  set(&CallCosts::client_item, 700);
  set(&CallCosts::client_get, 2'000);
  set(&CallCosts::client_put, 2'500);
  set(&CallCosts::thread_rate, 2'000'000'000);
  return costs;
}

}  // namespace larder::sim
