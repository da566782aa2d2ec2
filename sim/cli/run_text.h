#pragma once

#include <string>

#include "sim/planning/run.h"

namespace larder::sim {

// A run for people: what was simulated, and what it came to, in half a screen.
std::string run_text(const Run& run, const std::string& trace);

}  // namespace larder::sim
