#pragma once

#include "core/base/error.h"
#include "sim/planning/setting.h"

namespace CLI {
class App;
}

namespace larder::sim {

// A flag for each parameter of a setting (sim/planning/parameters.h), with its default. `setting`
// outlives `command`.
void add_setting_arguments(CLI::App& command, Setting& setting);

// Reads what the cluster and the model of a setting are, presets or files, into it.
Status load_parts(Setting& setting);

}  // namespace larder::sim
