#pragma once

#include <string>
#include <vector>

#include "sim/planning/run.h"
#include "sim/planning/spread.h"

namespace larder::sim {

// A run for people: what was simulated, and what it came to, in half a screen. `spread` over seeds
// is shown if it is of several.
std::string run_text(const Run& run, const std::string& trace, const Spread& spread);

// "! a\n! b\n": what a reader of the numbers should know.
std::string notes_text(const std::vector<std::string>& notes);

}  // namespace larder::sim
