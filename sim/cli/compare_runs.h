#pragma once

#include <string>

#include "core/base/error.h"

namespace larder::sim {

// Whether a path is a run of larder-sim replay: its directory, or its run.json.
bool is_run(const std::string& path);

// Prints what differs between the settings of two runs, and their numbers side by side. Errors: of
// reading them; INVALID_PARAMS where one of them is none.
Status compare_runs(const std::string& first, const std::string& second, bool as_json);

}  // namespace larder::sim
