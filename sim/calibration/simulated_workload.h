#pragma once

#include <cstdint>

#include "core/topology/hardware.h"
#include "proto/calibration/calibration.h"
#include "sim/calibration/call_costs.h"

namespace larder::sim {

// The workload as `larder calibrate` runs it, in the pool of the capacity runs (sim/capacity) on a
// machine of this kind: master, node and clients share its cores. Some calls are not counted, and
// then so many that the throughput is steady. local: all that one thread does is done by one core.
//
// The same arguments give the same result. Takes some milliseconds.
// Precondition: the host is of one kind, and its cores are known.
WorkloadRun simulate(const Hardware& machine, const CostValues& costs, const Workload& workload,
                     std::uint64_t seed);

}  // namespace larder::sim
