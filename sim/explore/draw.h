#pragma once

#include <cstdint>

#include "sim/explore/scenario.h"

namespace larder::sim {

// The scenario of a seed: a small pool, clients that put, get, look for and remove a few keys in
// bursts, and a subset of the faults with rates of its own (a swarm). Each kind of fault is off in
// most seeds, so that some seeds have one alone and rare ones are not drowned. The same on every
// machine. `operations`: at least so many, of which at least 20 begin at about the same time.
Scenario draw_scenario(std::uint64_t seed, std::uint32_t operations);

}  // namespace larder::sim
