#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/topology/hardware.h"
#include "proto/calibration/calibration.h"
#include "real/calibrate/workload_pool.h"
#include "real/system/machine_host.h"
#include "real/system/nics.h"

namespace larder::real {

// What is measured, and how often.
struct CalibrationPlan {
  std::vector<Workload> workloads;  // none: a machine that is only described
  std::uint32_t runs = 5;
  WorkloadTime time;
  Duration machine_time = std::chrono::milliseconds(500);  // of each rate of the machine, each time
  Bytes memory = 2_GiB;                                    // of the pool
};
// All workloads: operations, sizes of 4 KiB to 16 MiB, 1 to 4 clients, batches of 1 to 128, over
// each transport; a few minutes in all.
CalibrationPlan full_plan();
// Seven of them, for a moment each, twice: shows that everything works, and measures little.
CalibrationPlan quick_plan();
// How long about, without what the machine needs to start and clear pools.
Duration duration_of(const CalibrationPlan& plan);

struct Calibration {
  MachineRates rates;
  MachineNics nics;  // those that are usable are in `host`
  Hardware host;
  CalibratedCosts costs;
  Measurements measurements;
};

// Measures. Each NIC that is not used is logged, with the reason. `progress` hears the share that
// is done, and what is measured now. Each run of all workloads comes after the one before, so that
// what changes slowly on the machine is in the spread. Errors: no_available_handle (the machine has
// not memory enough); of the pools and their calls.
Result<Calibration> calibrate(const CalibrationPlan& plan,
                              const std::function<void(double, const std::string&)>& progress);

// A warning for each NIC that is not used, with the reason.
void log_excluded(const MachineNics& nics);

// host.json, costs.json and measured.json.
struct CalibrationFile {
  std::string name;
  std::string text;
};
std::vector<CalibrationFile> files_of(const Calibration& calibration);

}  // namespace larder::real
