#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol/limits.h"
#include "sim/explore/run.h"

// Random worlds: each seed draws a scenario (draw.h), which runs to its rest (run.h); history.h
// names what must hold.

namespace larder::sim {

struct ExploreConfig {
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 100;
  std::uint32_t threads = 1;
  // Of each seed, at least, before the faults stop; those of clients that are dead then do not
  // begin.
  std::uint32_t operations = 1000;
  std::uint64_t twice = 64;  // every so manieth seed runs twice; 0: none
  Guards guards;             // some off: what would go wrong without them
};

struct SeedResult {
  std::uint64_t seed = 0;
  std::string faults;  // that the seed had switched on
  RunResult run;
};

// One world, from its seed to its rest.
SeedResult explore_seed(std::uint64_t seed, const ExploreConfig& config);

struct ExploreResult {
  std::uint64_t seeds = 0;
  std::uint64_t violations = 0;             // seeds with at least one
  std::optional<SeedResult> first_failing;  // the lowest such seed
  std::vector<std::uint64_t> failing;       // all of them; of more than failing_max the lowest
  static constexpr std::size_t failing_max = 1000;
  struct Refusal {  // an assertion of the core that ended a seed's run
    std::uint64_t seed = 0;
    std::string what;
  };
  std::vector<Refusal> refusals;  // the first few
  static constexpr std::size_t refusals_max = 5;
  std::uint64_t state_hash = 0;  // of all seeds, in their order; of one seed that of its run
  std::uint64_t events = 0;
  OperationCounts operations;
  Duration virtual_time{0};
};

// All seeds, on `threads` threads; the result does not depend on their number. `goes_on` is called
// after each seed, with how many are done, from one thread at a time; if it says no, the seeds that
// are under way are the last.
ExploreResult explore(const ExploreConfig& config,
                      const std::function<bool(std::uint64_t)>& goes_on = {});

}  // namespace larder::sim
