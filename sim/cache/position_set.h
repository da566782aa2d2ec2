#pragma once

#include <cstdint>
#include <vector>

namespace larder::sim {

// A set of numbers below a bound that is known beforehand, of which the greatest is wanted again
// and again. A bit for each number, and a bit for each 64 of them that says whether there are any,
// and so on: each call looks at one word for each factor of 64 of the bound.
class PositionSet {
 public:
  explicit PositionSet(std::uint64_t bound);

  bool contains(std::uint64_t number) const { return (levels_[0][number / 64] >> number % 64) & 1; }
  void insert(std::uint64_t number);  // it is not in it
  void erase(std::uint64_t number);   // it is in it
  std::uint64_t greatest() const;     // precondition: it is not empty
  std::uint64_t size() const { return size_; }

 private:
  std::vector<std::vector<std::uint64_t>> levels_;
  std::uint64_t size_ = 0;
};

}  // namespace larder::sim
