#pragma once

#include <cstdint>

namespace larder {

// A seeded stream of random numbers, the same on every machine (std distributions are not):
// xoshiro256** by Blackman and Vigna, seeded by splitmix64. One stream for each component.
class Random {
 public:
  explicit Random(std::uint64_t seed);

  std::uint64_t next();
  // Uniform in [0, bound). Precondition: bound > 0.
  std::uint64_t below(std::uint64_t bound);
  // Uniform in [0, 1).
  double unit();
  bool chance(double probability) { return unit() < probability; }
  // A stream of its own, a function of this stream's seed and `stream` alone.
  Random fork(std::uint64_t stream) const;

 private:
  std::uint64_t seed_;
  std::uint64_t state_[4];
};

}  // namespace larder
