#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/exhaustive/action.h"
#include "sim/exhaustive/pool.h"
#include "sim/exhaustive/small_world.h"
#include "sim/explore/history.h"

// Every way in which a small world can go (docs/decisions/0005): depth first, by running again from
// its beginning; a state that was met before is not gone through again, and of two actions that
// commute only one order is (sleep sets). From each state in which nothing is on its way the world
// is brought to its rest.

namespace larder::sim {

struct SearchConfig {
  Guards guards;                          // some off: what would go wrong without them
  std::uint64_t states_max = 10'000'000;  // 16 bytes or more each
  bool sleep_sets = true;                 // off: every order of everything
  // Of the pairs of histories that lead to one state, every so manieth is tested: do they go on
  // likewise? 0: none.
  std::uint64_t test_merges = 0;
  // Called now and then; false: stop.
  std::function<bool(std::uint64_t states, std::size_t depth)> goes_on;
};

struct SearchResult {
  enum class End : std::uint8_t {
    exhausted,
    states,     // the bound
    stopped,    // goes_on() said so
    violation,  // the first one found
  };
  End end = End::exhausted;
  std::uint64_t states = 0;
  std::uint64_t transitions = 0;
  std::uint64_t executions = 0;  // how often the world ran from its beginning
  std::uint64_t ends = 0;        // states in which nothing was on its way
  std::uint64_t merges = 0;      // histories that led to a state that was known
  std::uint64_t merges_tested = 0;
  std::uint64_t false_merges = 0;  // of those, the ones that went on differently
  // Two of them: ways to what was taken for one state.
  std::pair<std::vector<Action>, std::vector<Action>> falsely_merged;
  std::size_t depth = 0;    // of the longest way
  std::vector<Action> way;  // to the violation; no action of it can be left out
  std::vector<Violation> violations;
};

SearchResult search(const SmallWorld& world, const SearchConfig& config);

// One way again, told step by step, with what it breaks. Actions that are not possible are passed
// over.
struct Replay {
  std::vector<Action> taken;
  std::vector<Violation> violations;
  std::vector<Pool::Told> told;
};
Replay replay(const SmallWorld& world, const Guards& guards, const std::vector<Action>& way,
              bool tells);

// A way as text and back: "begin.0 request.0.3 chunk.1.2.0". Errors: invalid_params.
std::string way_text(const std::vector<Action>& way);
Result<std::vector<Action>> parse_way(std::string_view text);

}  // namespace larder::sim
