#include "sim/cache/hit_rates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/sim/cache/naive_cache.h"

namespace larder::sim {
namespace {

using workloads::BlockId;

TEST(HitRates, AnswersEachPolicyInEachSizeInTheOrderAsked) {
  HitRates rates = HitRates::make({.policies = {"leaf-first", "lru"}, .sizes = {1, {}, 0}}).value();
  // Ids are any 64-bit numbers.
  const std::array request{BlockId{~0ull}, BlockId{0}, BlockId{1ull << 63}};
  rates.request(request);
  rates.request(request);
  const std::vector<CachePoint> expected{
      {"leaf-first", 1, 6, 1, 1, 4}, {"leaf-first", {}, 6, 3, 3, 0}, {"leaf-first", 0, 6, 0, 0, 6},
      {"lru", 1, 6, 0, 0, 0},        {"lru", {}, 6, 3, 3, 0},        {"lru", 0, 6, 0, 0, 6},
  };
  EXPECT_EQ(rates.points(), expected);
}

std::vector<CachePoint> points_of_sample(std::uint64_t requests_max, std::uint64_t warmup) {
  const std::vector<std::filesystem::path> paths{"workloads/samples/sessions.jsonl"};
  const auto trace = workloads::open_trace(paths).value();
  HitRates rates = HitRates::make({.policies = {"lru", "fifo", "leaf-first"},
                                   .sizes = {100, 1000, {}},
                                   .warmup_requests = warmup})
                       .value();
  for (std::uint64_t i = 0; i < requests_max; ++i) {
    const workloads::Request* const request = trace->next().value();
    if (request == nullptr) break;
    rates.request(request->blocks);
  }
  return rates.points();
}

TEST(HitRates, E9AWarmUpFillsTheCachesAndIsNotCounted) {
  const std::vector<CachePoint> all = points_of_sample(~0ull, 0);
  const std::vector<CachePoint> first = points_of_sample(150, 0);
  const std::vector<CachePoint> rest = points_of_sample(~0ull, 150);
  ASSERT_EQ(rest.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(rest[i].policy, all[i].policy);
    EXPECT_EQ(rest[i].accesses, all[i].accesses - first[i].accesses);
    EXPECT_EQ(rest[i].hits, all[i].hits - first[i].hits);
    EXPECT_EQ(rest[i].leading_hits, all[i].leading_hits - first[i].leading_hits);
    EXPECT_EQ(rest[i].bypassed, all[i].bypassed - first[i].bypassed);
    if (!all[i].blocks) EXPECT_GT(rest[i].hit_ratio(), all[i].hit_ratio()) << "it begins warm";
  }
}

TEST(HitRates, E9AWarmUpThatTakesTheWholeTraceIsRefused) {
  const std::vector<std::filesystem::path> paths{"workloads/samples/sessions.jsonl"};
  const auto trace = workloads::open_trace(paths).value();
  const auto points =
      hit_rates(*trace, {.policies = {"lru"}, .sizes = {100}, .warmup_requests = 400});
  ASSERT_FALSE(points);
  EXPECT_EQ(points.error().code(), ErrorCode::invalid_params);
  EXPECT_NE(points.error().message().find("400"), std::string::npos);
}

TEST(HitRates, AnUnknownPolicyAndAnEmptyQuestionAreRefused) {
  for (const HitRateQuestion& wrong :
       {HitRateQuestion{.policies = {"lru", "opt"}, .sizes = {1}}, HitRateQuestion{.sizes = {1}},
        HitRateQuestion{.policies = {"lru"}}}) {
    EXPECT_EQ(HitRates::make(wrong).error().code(), ErrorCode::invalid_params);
  }
}

// One hour of real chat requests. The counts of LRU were computed by others, without this code.
class ConversationTrace : public testing::Test {
 protected:
  void SetUp() override {
    const char* const folder = std::getenv("LARDER_TRACES");
    if (folder == nullptr) GTEST_SKIP() << "LARDER_TRACES names no folder with traces";
    file_ = std::filesystem::path(folder) / "conversation_trace.jsonl";
    if (!std::filesystem::exists(file_)) GTEST_SKIP() << file_ << " is not there";
  }
  std::unique_ptr<workloads::TraceReader> open() const {
    return workloads::open_trace(std::span(&file_, 1)).value();
  }
  std::filesystem::path file_;
};

TEST_F(ConversationTrace, LruHitsAreExact) {
  const auto trace = open();
  const auto points =
      hit_rates(*trace, {.policies = {"lru"}, .sizes = {1'000, 10'000, 50'000, {}}}).value();
  const std::array<std::uint64_t, 4> hits{12'831, 60'921, 102'290, 105'710};
  for (std::size_t i = 0; i < hits.size(); ++i) {
    EXPECT_EQ(points[i].accesses, 288'500u);
    EXPECT_EQ(points[i].hits, hits[i]);
  }
  EXPECT_EQ(points[3].leading_hits, points[3].hits);
}

TEST_F(ConversationTrace, TheBoundIsExact) {
  const auto trace = open();
  const auto points = hit_rates(*trace, {.policies = {"belady"}, .sizes = {1'000, 10'000}}).value();
  // Hit ratios of .190707 and .366412, computed by others; the second one is that without limit.
  EXPECT_EQ(points[0].hits, 55'019u);
  EXPECT_EQ(points[1].hits, 105'710u);
  for (const CachePoint& point : points) EXPECT_EQ(point.leading_hits, point.hits);
}

TEST_F(ConversationTrace, EveryPolicyCountsLikeANaiveCacheAndTheCurve) {
  struct Golden {
    std::string_view policy;
    std::array<std::uint64_t, 2> hits;
  };
  const std::array<std::uint64_t, 2> sizes{1'000, 10'000};
  constexpr std::array golden{
      Golden{"lru", {12'831, 60'921}},        Golden{"fifo", {12'559, 53'812}},
      Golden{"lfu", {13'871, 38'013}},        Golden{"clock", {12'884, 61'828}},
      Golden{"sieve", {13'871, 38'013}},      Golden{"s3-fifo", {16'723, 56'280}},
      Golden{"leaf-first", {12'847, 61'046}}, Golden{"length-aware", {14'543, 32'380}},
      Golden{"cost-aware", {13'071, 62'399}}, Golden{"lfu-da", {13'350, 65'438}},
  };
  ASSERT_TRUE(std::ranges::equal(golden, policy_names(), {}, &Golden::policy));
  BlockNumbers numbers;
  LruCurve curve;
  std::vector<CacheRun> runs;
  std::vector<NaiveCache> naive;
  for (const std::string_view policy : policy_names()) {
    for (const std::uint64_t size : sizes) {
      runs.push_back(CacheRun::make(policy, size).value());
      naive.emplace_back(std::string(policy), size);
    }
  }
  const auto trace = open();
  while (const workloads::Request* const request = trace->next().value()) {
    const auto blocks = numbers.of(request->blocks);
    curve.request(blocks);
    for (CacheRun& run : runs) run.request(blocks);
    for (NaiveCache& cache : naive) cache.request(blocks);
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const CachePoint& point = runs[i].point();
    EXPECT_EQ(point.hits, naive[i].hits) << point.policy << " " << *point.blocks;
    EXPECT_EQ(point.hits, golden[i / 2].hits[i % 2]) << point.policy << " " << *point.blocks;
    EXPECT_EQ(point.leading_hits, naive[i].leading_hits) << point.policy << " " << *point.blocks;
    EXPECT_EQ(point.bypassed, naive[i].bypassed) << point.policy << " " << *point.blocks;
    if (point.policy == "lru") EXPECT_EQ(point, curve.at(point.blocks));
  }
}

}  // namespace
}  // namespace larder::sim
