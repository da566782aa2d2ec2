#include "sim/cache/cache_run.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <vector>

#include "tests/unit/sim/cache/naive_cache.h"

namespace larder::sim {
namespace {

using Requests = std::vector<std::vector<BlockNumber>>;

CachePoint run(std::string_view policy, CacheBlocks blocks, const Requests& requests) {
  CacheRun cache = CacheRun::make(policy, blocks).value();
  for (const auto& request : requests) cache.request(request);
  return cache.point();
}

class EveryCache : public testing::TestWithParam<std::string_view> {};

TEST_P(EveryCache, CountsLikeANaiveOne) {
  EXPECT_TRUE(rc::check([] {
    const auto requests = *rc::gen::container<Requests>(
        rc::gen::container<std::vector<BlockNumber>>(rc::gen::inRange<BlockNumber>(0, 20)));
    const auto blocks = *rc::gen::inRange<std::uint64_t>(0, 24);
    const CachePoint point = run(GetParam(), blocks, requests);
    NaiveCache naive{std::string(GetParam()), blocks};
    for (const auto& request : requests) naive.request(request);
    RC_ASSERT(point.hits == naive.hits);
    RC_ASSERT(point.leading_hits == naive.leading_hits);
    RC_ASSERT(point.bypassed == naive.bypassed);
  }));
}

TEST_P(EveryCache, WithoutALimitOnlyFirstUsesMiss) {
  const CachePoint point = run(GetParam(), std::nullopt, {{0, 1, 2}, {0, 1, 3}, {0, 1, 2, 4}});
  EXPECT_EQ(point.accesses, 10u);
  EXPECT_EQ(point.hits, 5u);
  EXPECT_EQ(point.leading_hits, 5u);
  EXPECT_EQ(point.bypassed, 0u);
}

TEST_P(EveryCache, E10OfNoBlocksBypassesEverything) {
  const CachePoint point = run(GetParam(), 0, {{0, 1}, {0, 1}, {0}});
  EXPECT_EQ(point.accesses, 5u);
  EXPECT_EQ(point.hits, 0u);
  EXPECT_EQ(point.bypassed, 5u);
}

TEST_P(EveryCache, E7WithoutAnAccessHasNoHitRatio) {
  EXPECT_EQ(run(GetParam(), 10, {}).hit_ratio(), std::nullopt);
  EXPECT_EQ(run(GetParam(), 10, {{}}).hit_ratio(), std::nullopt);
}

TEST_P(EveryCache, E7ServesARequestThatIsWhollyCached) {
  const CachePoint point = run(GetParam(), 4, {{0, 1, 2, 3}, {0, 1, 2, 3}});
  EXPECT_EQ(point.leading_hits, 4u);
  EXPECT_EQ(point.hit_ratio(), 0.5);
}

INSTANTIATE_TEST_SUITE_P(, EveryCache, testing::ValuesIn(policy_names()), [](const auto& info) {
  std::string name(info.param);
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST(CacheRun, ARequestLongerThanTheCacheLeavesItsEndUnderLru) {
  const CachePoint point = run("lru", 2, {{0, 1, 2, 3}, {2, 3}});
  EXPECT_EQ(point.hits, 2u);
  EXPECT_EQ(point.bypassed, 0u);
}

TEST(CacheRun, ARequestLongerThanTheCacheLeavesItsStartUnderLeafFirst) {
  const CachePoint point = run("leaf-first", 2, {{0, 1, 2, 3}, {0, 1, 2, 3}});
  EXPECT_EQ(point.hits, 2u);
  EXPECT_EQ(point.leading_hits, 2u);
  EXPECT_EQ(point.bypassed, 4u);
}

TEST(CacheRun, AnUnknownPolicyIsRefused) {
  EXPECT_EQ(CacheRun::make("opt", 10).error().code(), ErrorCode::invalid_params);
}

}  // namespace
}  // namespace larder::sim
