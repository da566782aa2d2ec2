#pragma once

#include <string>

#include "core/base/error.h"
#include "core/topology/hardware.h"

namespace larder::sim {

// What the user means by the name of a preset or of a hardware file; a file of the name of a preset
// is reached as ./NAME. Errors: invalid_params for what is neither, file_open_fail, file_read_fail,
// bad_file with file and place.
Result<Hardware> load_hardware(const std::string& preset_or_file);

}  // namespace larder::sim
