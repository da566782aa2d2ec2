#pragma once

#include "terminal/command.h"

#include <cstdint>
#include <string>

namespace larder::sim {

// Adds an option, such as --first, of a number, or a commit's name, of which the first 16 digits
// are the seed. `seed` outlives the parsing.
terminal::Option add_seed(terminal::Command command, const std::string& names, std::uint64_t& seed,
                          const std::string& what);

}  // namespace larder::sim
