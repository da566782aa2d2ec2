#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "core/base/time.h"

namespace larder::real {

// How long many calls took, in bounded memory: counts by ranges, of which 32 lie between each power
// of two and the next, so that what is read out is at most 3 % too high.
class Latencies {
 public:
  void add(Duration latency) {
    ++counts_[place_of(static_cast<std::uint64_t>(std::max<Duration::rep>(latency.count(), 0)))];
    ++count_;
  }
  void add(const Latencies& other) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
  }

  std::uint64_t count() const { return count_; }
  // What the `share` fastest took at most; zero if there are none.
  Duration quantile(double share) const {
    const auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(count_) + 0.5);
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (seen > 0 && seen >= wanted) return Duration(static_cast<Duration::rep>(end_of(i)));
    }
    return Duration(0);
  }

 private:
  static constexpr unsigned bits = 5;
  static constexpr std::uint64_t in_range = std::uint64_t{1} << bits;

  static std::size_t place_of(std::uint64_t ns) {
    if (ns < in_range) return ns;
    const auto shift = static_cast<unsigned>(std::bit_width(ns)) - bits - 1;
    return (shift + 1) * in_range + ((ns >> shift) - in_range);
  }
  // The largest value that is counted there.
  static std::uint64_t end_of(std::size_t place) {
    if (place < in_range) return place;
    const std::uint64_t shift = place / in_range - 1;
    return ((place % in_range + in_range + 1) << shift) - 1;
  }

  std::array<std::uint64_t, (64 - bits + 1) * in_range> counts_{};
  std::uint64_t count_ = 0;
};

}  // namespace larder::real
