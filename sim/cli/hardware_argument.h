#pragma once

#include <optional>
#include <string>

#include "core/base/error.h"
#include "core/topology/hardware.h"

namespace larder::sim {

// The directory that "calibrated:DIR" names: machines like the one about which larder calibrate
// wrote it. Nothing for any other name.
std::optional<std::string> calibration_of_cluster(const std::string& cluster);

// What the user means by the name of a preset or of a hardware file, or by calibrated:DIR; a file
// of the name of a preset is reached as ./NAME. Errors: invalid_params for what is neither,
// file_open_fail, file_read_fail, bad_file with file and place.
Result<Hardware> load_hardware(const std::string& preset_or_file);

}  // namespace larder::sim
