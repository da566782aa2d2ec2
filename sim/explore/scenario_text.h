#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"
#include "sim/explore/scenario.h"

// Scenarios as people read and write them; docs/simulator.md describes the lines.
//
//   seed 7
//   values up to 16KiB
//   node0 64KiB
//   client0 clock +5s +2500ppm
//   links lose 0.01 delay 1ms
//   at 12.5ms client0 put key3 100B replicas 2, key4 1KiB
//   at 13ms crash node0 for 3s

namespace larder::sim {

// Reading the text again gives the same scenario.
std::string scenario_text(const Scenario& scenario);
// One step without its instant: "client0 put key3 100B", "crash node0 for 3s".
std::string step_text(const Step& step);

// `name` is the text's, for errors: bad_file with its line, what is wrong there and what is known.
Result<Scenario> parse_scenario(std::string_view text, std::string_view name);

// "12.5ms": exact, in the largest unit that leaves at least 1.
std::string duration_text(Duration duration);

}  // namespace larder::sim
