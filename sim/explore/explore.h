#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol/limits.h"
#include "sim/explore/history.h"

// Random worlds: each seed draws a small pool, clients that put, get, look for and remove a few
// keys, and a subset of the faults with rates of its own (a swarm). Safety is checked throughout;
// then the faults stop and the pool must come to rest (sim/explore/history.h names what must hold).

namespace larder::sim {

struct ExploreConfig {
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 100;
  std::uint32_t threads = 1;
  std::uint32_t operations = 400;  // of each seed, before the faults stop
  Guards guards;                   // some off: what would go wrong without them
};

struct SeedResult {
  std::uint64_t seed = 0;
  std::uint64_t state_hash = 0;
  std::uint64_t events = 0;
  std::uint64_t operations = 0;
  std::uint64_t gets_ok = 0;
  std::uint64_t puts_ok = 0;
  Duration virtual_time{0};
  std::string faults;  // that the seed had switched on
  std::vector<Violation> violations;
};

// One world, from its seed to its rest. The same seed and configuration give the same result on any
// machine. Stops at the first broken invariant of a machine.
SeedResult explore_seed(std::uint64_t seed, const ExploreConfig& config);

struct ExploreResult {
  std::uint64_t seeds = 0;
  std::uint64_t violations = 0;             // seeds with at least one
  std::optional<SeedResult> first_failing;  // the lowest such seed
  std::uint64_t state_hash = 0;             // of all seeds, in their order
  std::uint64_t events = 0;
  std::uint64_t operations = 0;
  std::uint64_t gets_ok = 0;
  std::uint64_t puts_ok = 0;
  Duration virtual_time{0};
};

// All seeds, on `threads` threads; the result does not depend on their number. `done` is called
// after each seed, with how many are done, from one thread at a time.
ExploreResult explore(const ExploreConfig& config,
                      const std::function<void(std::uint64_t)>& done = {});

}  // namespace larder::sim
