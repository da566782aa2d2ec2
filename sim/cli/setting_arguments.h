#pragma once

#include "core/base/error.h"
#include "sim/planning/setting.h"
#include "terminal/command.h"

namespace larder::sim {

// A flag for each parameter of a setting (sim/planning/parameters.h), with its default. `setting`
// outlives `command`.
void add_setting_arguments(terminal::Command command, Setting& setting);

// Reads what the cluster, the model and the costs of a setting are, presets or files, into it. With
// a cluster of calibrated machines the costs are those of the same calibration, if it names no
// others.
Status load_parts(Setting& setting);

}  // namespace larder::sim
