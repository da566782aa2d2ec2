#include "sim/cache/lru_curve.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <vector>

#include "core/base/random.h"
#include "sim/cache/cache_run.h"

namespace larder::sim {
namespace {

using Requests = std::vector<std::vector<BlockNumber>>;

CachePoint lru(CacheBlocks blocks, const Requests& requests) {
  CacheRun cache = CacheRun::make("lru", blocks).value();
  for (const auto& request : requests) cache.request(request);
  return cache.point();
}

TEST(LruCurve, EqualsARunForEachSize) {
  EXPECT_TRUE(rc::check([] {
    const auto requests = *rc::gen::container<Requests>(
        rc::gen::container<std::vector<BlockNumber>>(rc::gen::inRange<BlockNumber>(0, 30)));
    LruCurve curve;
    for (const auto& request : requests) curve.request(request);
    for (std::uint64_t blocks = 0; blocks < 33; ++blocks)
      RC_ASSERT(curve.at(blocks) == lru(blocks, requests));
    RC_ASSERT(curve.at(std::nullopt) == lru(std::nullopt, requests));
  }));
}

// Long enough that positions are renumbered many times, with blocks new and old in between.
TEST(LruCurve, EqualsRunsOverALongTrace) {
  Random random(7);
  Requests requests(3000);
  for (auto& request : requests) {
    const std::uint64_t start = random.below(5000);
    const std::uint64_t length = random.below(60);
    for (std::uint64_t i = 0; i < length; ++i)
      request.push_back(static_cast<BlockNumber>(random.chance(0.5) ? i : start + i));
  }
  LruCurve curve;
  for (const auto& request : requests) curve.request(request);
  for (const std::uint64_t blocks : {1u, 63u, 64u, 65u, 500u, 2000u, 4999u, 6000u})
    EXPECT_EQ(curve.at(blocks), lru(blocks, requests)) << blocks;
  EXPECT_EQ(curve.at(curve.unique_blocks()).hits, curve.at(std::nullopt).hits);
}

TEST(LruCurve, WhatIsTouchedIsUsedAndNotCounted) {
  LruCurve curve;
  curve.touch(std::vector<BlockNumber>{0, 1});
  curve.request(std::vector<BlockNumber>{0});  // 1 was used since
  curve.touch(std::vector<BlockNumber>{0, 2});
  curve.request(std::vector<BlockNumber>{0, 1});  // after 2, and after 2 and 0
  EXPECT_EQ(curve.at(std::nullopt).accesses, 3u);
  EXPECT_EQ(curve.at(1).hits, 0u);
  EXPECT_EQ(curve.at(2).hits, 2u);
  EXPECT_EQ(curve.at(3).hits, 3u);
  const std::vector<std::uint64_t> sizes{0, 1, 2, 3, 50};
  EXPECT_EQ(curve.leading_hits(sizes), (std::vector<std::uint64_t>{0, 0, 2, 3, 3}));
}

TEST(LruCurve, E10NeverFallsAsTheCacheGrows) {
  Random random(11);
  LruCurve curve;
  for (int i = 0; i < 500; ++i) {
    std::vector<BlockNumber> request(random.below(50));
    for (auto& block : request)
      block = static_cast<BlockNumber>(random.below(1 + random.below(300)));
    curve.request(request);
  }
  for (std::uint64_t blocks = 1; blocks <= 301; ++blocks)
    EXPECT_GE(curve.at(blocks).hits, curve.at(blocks - 1).hits);
}

TEST(LruCurve, E7OfNothingHasNoHitRatio) {
  EXPECT_EQ(LruCurve().at(10).hit_ratio(), std::nullopt);
  EXPECT_EQ(LruCurve().at(std::nullopt).hits, 0u);
}

}  // namespace
}  // namespace larder::sim
