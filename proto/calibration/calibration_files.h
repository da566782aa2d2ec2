#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"
#include "proto/calibration/calibration.h"

namespace larder {

// costs.json and measured.json (docs/calibration.md has their members). Reading is strict, as that
// of hardware files: errors are bad_file, with the place as a JSON pointer and what is expected
// there. What was read makes sense: a figure lies between its bounds, a workload stands once, all
// workloads have equally many runs, and no run moved nothing or took no time.
Result<CalibratedCosts> read_costs(std::string_view text);
Result<Measurements> read_measurements(std::string_view text);

// What the readers read back to the same. Ends with a line end.
std::string write_costs(const CalibratedCosts& costs);
std::string write_measurements(const Measurements& measurements);

}  // namespace larder
