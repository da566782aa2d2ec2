#include "core/base/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace larder {
namespace {

constexpr int part_bits = 4;  // 16 parts of each power of two
constexpr std::uint64_t parts = std::uint64_t{1} << part_bits;

std::size_t bucket_of(Duration duration) {
  const auto value =
      static_cast<std::uint64_t>(std::clamp(duration, Duration(0), Histogram::longest).count());
  if (value < 2 * parts) return value;
  const int power = static_cast<int>(std::bit_width(value)) - 1;
  const int shift = power - part_bits;
  return static_cast<std::size_t>(shift) * parts + (value >> shift);
}

Duration middle(std::size_t bucket) {
  const auto [from, to] = Histogram::range(bucket);
  return from + (to - from) / 2;
}

}  // namespace

std::pair<Duration, Duration> Histogram::range(std::size_t bucket) {
  if (bucket < 2 * parts) {
    const Duration exact(static_cast<std::int64_t>(bucket));
    return {exact, exact};
  }
  const std::size_t shift = bucket / parts - 1;
  const auto from = static_cast<std::int64_t>((bucket - shift * parts) << shift);
  return {Duration(from), Duration(from + (std::int64_t{1} << shift) - 1)};
}

void Histogram::grow(std::size_t bucket) {
  if (counts_.size() <= bucket) counts_.resize(bucket + 1);
}

void Histogram::add(Duration duration, std::uint64_t times) {
  const std::size_t bucket = bucket_of(duration);
  grow(bucket);
  counts_[bucket] += times;
  count_ += times;
}

void Histogram::merge(const Histogram& other) {
  if (!other.counts_.empty()) grow(other.counts_.size() - 1);
  for (std::size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
}

void Histogram::merge(std::span<const Entry> entries) {
  for (const Entry& entry : entries) {
    if (entry.bucket >= buckets || entry.count == 0) continue;
    grow(entry.bucket);
    counts_[entry.bucket] += entry.count;
    count_ += entry.count;
  }
}

Duration Histogram::quantile(double share) const {
  if (count_ == 0) return Duration(0);
  const double rank = std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(count_));
  const auto wanted = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(rank), 1, count_);
  std::uint64_t passed = 0;
  std::size_t bucket = 0;
  while ((passed += counts_[bucket]) < wanted) ++bucket;
  return middle(bucket);
}

Duration Histogram::sum() const {
  double total = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    total += static_cast<double>(counts_[i]) * static_cast<double>(middle(i).count());
  }
  constexpr double most = 9e18;
  return Duration(static_cast<std::int64_t>(std::min(total, most)));
}

Histogram::Entries Histogram::entries() const {
  Entries entries;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] != 0) entries.push_back({static_cast<std::uint32_t>(i), counts_[i]});
  }
  return entries;
}

}  // namespace larder
