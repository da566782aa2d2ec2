#pragma once

#include <cstdint>
#include <string>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace larder::sim {

// Adds an option, such as --first, of a number, or a commit's name, of which the first 16 digits
// are the seed. `seed` outlives the parsing.
CLI::Option* add_seed(CLI::App& command, const std::string& names, std::uint64_t& seed,
                      const std::string& what);

}  // namespace larder::sim
