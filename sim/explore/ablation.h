#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/protocol/limits.h"

// What the guards prevent: the same drawn worlds (draw.h) run with all guards on, with each one off
// alone, and with each two off. A read is wrong if it breaks I1, I2 or I3 (history.h).

namespace larder::sim {

struct AblationConfig {
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 300;  // of each configuration of guards
  std::uint32_t threads = 1;
  std::uint32_t operations = 1000;  // of each seed, before the faults stop
  // Of the seeds that read wrong, so many for each configuration are asked which faults it takes.
  std::uint64_t explained = 40;
};

// Wrong reads, and the seeds in which they were.
struct WrongReads {
  std::uint64_t reads = 0;
  std::uint64_t seeds = 0;
  bool operator==(const WrongReads&) const = default;
};

// What came of all seeds with these guards off.
struct Ablated {
  std::vector<std::size_t> off;  // none, one or two, as they stand in guard_names()
  WrongReads wrong;
  std::uint64_t other_seeds = 0;  // without a wrong read, but with a broken I4, I5, I6 or I7
  // Seeds that read wrong with both off, and with neither alone: where one let through what would
  // have been read, the other one stopped it. Only of pairs.
  std::uint64_t beyond_both = 0;
  // What it takes: `explained` of the seeds that read wrong (of a pair: of those beyond both) were
  // run again with one kind of fault after the other taken out, as long as they still read wrong.
  // Each kind that remained, as faults_of_scenarios() names it, with the seeds in which it did and
  // the wrong reads of their last run. A seed that needs none counts for no_fault alone.
  std::map<std::string_view, WrongReads> by_fault;
  std::uint64_t explained = 0;
  static constexpr std::string_view no_fault = "none";
};

struct AblationResult {
  std::uint64_t seeds = 0;  // of each
  // Nothing off, then each alone in the order of guard_names(), then each pair.
  std::vector<Ablated> all;

  const Ablated& of(std::vector<std::size_t> off) const;
  // A guard is redundant if it changes nothing whatever other guard is off too: no pair with it
  // reads wrong in more seeds than its partner alone.
  std::vector<std::size_t> redundant() const;
};

// On `threads` threads; the result does not depend on their number. `goes_on` is called after each
// run of a seed with the share of all work that is done, from one thread at a time; if it says no,
// the result is that of the seeds that have been run with all configurations, and nothing is
// explained.
AblationResult ablate(const AblationConfig& config,
                      const std::function<bool(double)>& goes_on = {});

// The tables, as ARCHITECTURE.md shows them.
std::string to_markdown(const AblationResult& result);

}  // namespace larder::sim
