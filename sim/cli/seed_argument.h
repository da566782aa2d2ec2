#pragma once

#include <cstdint>

namespace CLI {
class App;
}

namespace larder::sim {

// Adds --first, also called --seed: a number, or a commit's name, of which the first 16 digits are
// the seed. `seed` outlives the parsing.
void add_seed(CLI::App& command, std::uint64_t& seed);

}  // namespace larder::sim
