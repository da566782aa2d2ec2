#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace larder::sim {

struct SearchRules {
  double first_step = 1.5;  // a factor
  double last_step = 1.02;
  std::uint32_t rounds_max = 40;
};

// Makes `loss` of some positive numbers small by going along one of them at a time: `free` are the
// places of those that may change. A round tries for each of them the number times the step and
// divided by it, and goes where the loss is least; a round that finds nothing better halves the
// step. It ends when the step is below the last one, or after so many rounds. A local minimum, the
// same for the same arguments; no number leaves [1, 1e15]. Returns the numbers.
std::vector<double> coordinate_search(std::vector<double> numbers,
                                      std::span<const std::size_t> free,
                                      const std::function<double(const std::vector<double>&)>& loss,
                                      const SearchRules& rules = {});

}  // namespace larder::sim
