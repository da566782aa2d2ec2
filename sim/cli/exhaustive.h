#pragma once

#include <cstdint>
#include <string>

#include "core/base/error.h"
#include "core/protocol/limits.h"

namespace larder::sim {

// `larder-sim explore --exhaustive`: all interleavings of a small world.
struct ExhaustiveArguments {
  std::string world;  // a name, "all", or a file
  std::uint64_t states = 2'000'000;
  double minutes = 0;  // 0: no bound
  std::uint64_t test_merges = 0;
  bool every_order = false;
  std::string way;  // one way is told instead of all being searched
  bool json = false;
  Guards guards;
};
// OK: no violation, whether the world was exhausted or not. With one it ends the command
// (sim/cli/violation.h).
Status run_exhaustive(const ExhaustiveArguments& arguments);

}  // namespace larder::sim
