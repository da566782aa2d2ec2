#pragma once

#include <optional>
#include <string>

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/topology/hardware.h"
#include "proto/calibration/calibration.h"

namespace larder::sim {

struct LoadedCosts {
  std::string file;  // that they were in
  CalibratedCosts costs;
  std::optional<Bytes> memory_per_second;  // of the machine, where that is told
};

// What the user means by --costs: a file as larder calibrate writes costs.json, or the directory
// that it wrote, in which fitted.json, if it is there, stands for the costs and host.json tells the
// rate of the memory. Errors: file_not_found, file_open_fail, file_read_fail, bad_file with file
// and place.
Result<LoadedCosts> load_costs(const std::string& file_or_directory);

// The memory of each host, all of it together, has this rate; each part of it as much of that as it
// had before.
void set_memory_rate(Hardware& hardware, Bytes per_second);

}  // namespace larder::sim
