#pragma once

#include <cstdint>
#include <vector>

#include "core/base/error.h"
#include "proto/calibration/calibration.h"
#include "real/calibrate/workload_pool.h"

namespace larder::real {

// Nine runs that tell the steps of a call apart: little and much of each.
struct CostRuns {
  static constexpr std::uint32_t many = 128;  // items of a call, where there are many
  static constexpr Bytes small = {4 << 10};
  static constexpr Bytes large = warm_bytes;
  static constexpr std::uint32_t too_many = 2;  // of large ones
  WorkloadRun exists_one, exists_many;
  WorkloadRun get_one, get_many, get_large, get_cold;
  WorkloadRun put_one, put_many, put_large;
};

// With one client. Precondition: both sizes are stored. Errors: of the runs.
Result<CostRuns> measure_costs(WorkloadPool& pool, CalibratedTransport transport,
                               const WorkloadTime& time);

// What follows from them, each figure with equal bounds: what a process used for a call of many
// items, less what it used for one, is the items'; what is left of one is the call's. A put's two
// calls are measured together, and halved. What a byte costs is that of gets; what a put, or a get
// of more than warm_bytes, takes beyond that stands for itself. Where all is one process, its time
// counts as the client's.
CallCosts costs_of(const CostRuns& runs, CalibratedTransport transport);

// Of several, figure by figure: the middle one, the least and the greatest value. Precondition:
// there is one.
CallCosts middle_of(const std::vector<CallCosts>& all);

}  // namespace larder::real
