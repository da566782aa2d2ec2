#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/time.h"

namespace larder {

// How long something took, many times: counts in buckets that are as wide as a 16th of the power of
// two in which they lie (log-linear). Whatever comes in, it has at most `buckets` buckets of 8
// bytes, and only up to the longest duration that came. Quantiles are in error by at most 1/32 of
// their value, and exact below 32 ns. Two are merged by adding their counts, without further error.
class Histogram {
 public:
  static constexpr std::size_t buckets = 16 + 39 * 16;
  // What is longer counts as this long: some 2 h 26 min.
  static constexpr Duration longest{(std::int64_t{1} << 43) - 1};

  void add(Duration duration, std::uint64_t times = 1);
  void merge(const Histogram& other);

  std::uint64_t count() const { return count_; }
  // Zero if nothing was added. `share` in [0, 1]: 0.99 is what 99 % of all were not longer than.
  Duration quantile(double share) const;
  Duration longest_seen() const { return quantile(1); }
  // Of all, within 1/32; for averages over many.
  Duration sum() const;

  // The counts that are not zero, by the number of their bucket, ascending: what a message carries.
  struct Entry {
    std::uint32_t bucket = 0;
    std::uint64_t count = 0;
    bool operator==(const Entry&) const = default;
  };
  using Entries = std::vector<Entry>;
  Entries entries() const;
  // Adds what another process has counted; buckets that do not exist are left out.
  void merge(std::span<const Entry> entries);

  // From where to where a bucket reaches, both inclusive.
  static std::pair<Duration, Duration> range(std::size_t bucket);

 private:
  void grow(std::size_t bucket);

  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
};

}  // namespace larder
