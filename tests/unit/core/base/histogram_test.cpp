#include "core/base/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace larder {
namespace {

// Durations of all sizes, from nanoseconds to hours.
std::vector<Duration> durations(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 random(seed);
  std::vector<Duration> all(count);
  for (Duration& one : all) {
    one = Duration(static_cast<std::int64_t>((random() >> 21) >> (random() % 43)));
  }
  return all;
}

TEST(Histogram, QuantilesAreThoseOfTheSortedListWithinAThirtySecond) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<Duration> all = durations(seed, 1 + seed * 37);
    Histogram histogram;
    for (const Duration one : all) histogram.add(one);
    std::ranges::sort(all);
    for (const double share : {0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
      const auto rank = static_cast<std::size_t>(
          std::max(1.0, std::ceil(share * static_cast<double>(all.size()))));
      const double exact = static_cast<double>(all[rank - 1].count());
      const double told = static_cast<double>(histogram.quantile(share).count());
      EXPECT_LE(std::abs(told - exact), exact / 32) << "share " << share << " seed " << seed;
    }
  }
}

TEST(Histogram, SmallOnesAreExactAndLongOnesAreCut) {
  Histogram histogram;
  for (int i = 0; i < 32; ++i) {
    histogram = {};
    histogram.add(Duration(i));
    EXPECT_EQ(histogram.quantile(0.5), Duration(i));
  }
  histogram = {};
  histogram.add(Duration(-5));
  EXPECT_EQ(histogram.quantile(1), Duration(0));
  histogram.add(Duration::max());
  EXPECT_GE(histogram.quantile(1), Histogram::longest - Histogram::longest / 32);
  EXPECT_EQ(histogram.entries().back().bucket, Histogram::buckets - 1);
}

TEST(Histogram, BucketsFollowOneAnotherWithoutAGap) {
  Duration next{0};
  for (std::size_t i = 0; i < Histogram::buckets; ++i) {
    const auto [from, to] = Histogram::range(i);
    EXPECT_EQ(from, next);
    EXPECT_LE((to - from).count() * 16, from.count());
    next = to + Duration(1);
  }
  EXPECT_EQ(next, Histogram::longest + Duration(1));
}

TEST(Histogram, MergedIsThatOfAllTogether) {
  Histogram all;
  Histogram merged;
  Histogram carried;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    Histogram one;
    for (const Duration d : durations(seed, 500)) {
      all.add(d);
      one.add(d);
    }
    merged.merge(one);
    carried.merge(one.entries());
  }
  EXPECT_EQ(merged.entries(), all.entries());
  EXPECT_EQ(carried.entries(), all.entries());
  EXPECT_EQ(merged.count(), 2000u);
  EXPECT_EQ(merged.sum(), all.sum());
}

TEST(Histogram, WithoutAnythingItSaysZero) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.quantile(0.5), Duration(0));
  EXPECT_TRUE(histogram.entries().empty());
}

TEST(Histogram, TheBucketsOfAStrangerThatDoNotExistAreLeftOut) {
  Histogram histogram;
  const Histogram::Entries entries{{3, 2}, {Histogram::buckets, 7}, {0xffffffff, 1}};
  histogram.merge(entries);
  EXPECT_EQ(histogram.count(), 2u);
}

}  // namespace
}  // namespace larder
