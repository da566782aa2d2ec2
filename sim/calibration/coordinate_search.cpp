#include "sim/calibration/coordinate_search.h"

#include <algorithm>

namespace larder::sim {

std::vector<double> coordinate_search(std::vector<double> numbers,
                                      std::span<const std::size_t> free,
                                      const std::function<double(const std::vector<double>&)>& loss,
                                      const SearchRules& rules) {
  constexpr double least = 1;
  constexpr double most = 1e15;
  for (const std::size_t place : free) numbers[place] = std::clamp(numbers[place], least, most);
  double best = loss(numbers);
  double step = rules.first_step;
  for (std::uint32_t round = 0; round < rules.rounds_max && step >= rules.last_step; ++round) {
    bool better = false;
    for (const std::size_t place : free) {
      const double stood = numbers[place];
      double chosen = stood;
      for (const double tried : {stood * step, stood / step}) {
        numbers[place] = std::clamp(tried, least, most);
        const double value = loss(numbers);
        if (value >= best) continue;
        best = value;
        chosen = numbers[place];
        better = true;
      }
      numbers[place] = chosen;
    }
    if (!better) step = 1 + (step - 1) / 2;
  }
  return numbers;
}

}  // namespace larder::sim
