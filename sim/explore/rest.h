#pragma once

#include <cstdint>

#include "sim/cluster/world.h"
#include "sim/explore/history.h"
#include "sim/explore/scenario.h"

namespace larder::sim {

// All faults are over and every process has been started: what is under way ends, the pool comes to
// rest, its books are right, what it holds can be read and removed, and it serves everybody; or the
// history hears what does not hold (I5, I6, I7). `flipped`: bits of stored values that the hardware
// changed, each of which may cost a failed get.
void bring_to_rest(const Scenario& scenario, World& world, History& history, std::uint64_t flipped);

}  // namespace larder::sim
