#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "sim/explore/run.h"

namespace larder::sim {

struct ShrinkConfig {
  Guards guards;                       // with which it fails
  std::uint32_t runs_max = 4'000;      // of candidates
  std::function<bool()> goes_on = {};  // asked before each: no: what there is by then is the result
};

// A scenario that fails, made as small as could be found.
struct Shrunk {
  Scenario scenario;
  Guards guards;  // only those are off without which it does not fail
  RunResult run;  // of it, with its time line, up to the first violation
  std::uint32_t runs = 0;
};

// Fewer steps, clients, nodes and guards, plainer operations, shorter times, no faults of links, as
// long as the first violation is of the same invariant. What stays random is drawn anew a few times
// for each candidate, since another number of messages is another fate for each. Nothing if the
// scenario does not fail. The same input gives the same result while `goes_on` says yes.
std::optional<Shrunk> shrink(const Scenario& scenario, const ShrinkConfig& config);

// What happened, which guard should have stopped it, and which invariant broke, for people.
std::string to_text(const Shrunk& shrunk);

}  // namespace larder::sim
