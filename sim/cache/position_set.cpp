#include "sim/cache/position_set.h"

#include <bit>

namespace larder::sim {

PositionSet::PositionSet(std::uint64_t bound) {
  do {
    bound = (bound + 63) / 64;
    levels_.emplace_back(bound == 0 ? 1 : bound);
  } while (bound > 1);
}

void PositionSet::insert(std::uint64_t number) {
  ++size_;
  for (std::vector<std::uint64_t>& level : levels_) {
    std::uint64_t& word = level[number / 64];
    const bool any = word != 0;
    word |= 1ull << number % 64;
    if (any) return;
    number /= 64;
  }
}

void PositionSet::erase(std::uint64_t number) {
  --size_;
  for (std::vector<std::uint64_t>& level : levels_) {
    std::uint64_t& word = level[number / 64];
    word &= ~(1ull << number % 64);
    if (word != 0) return;
    number /= 64;
  }
}

std::uint64_t PositionSet::greatest() const {
  std::uint64_t number = 0;
  for (std::size_t level = levels_.size(); level-- > 0;) {
    number =
        number * 64 + 63 - static_cast<std::uint64_t>(std::countl_zero(levels_[level][number]));
  }
  return number;
}

}  // namespace larder::sim
