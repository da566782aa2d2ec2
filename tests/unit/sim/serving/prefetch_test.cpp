#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sim/serving/engine_world.h"

namespace larder::sim {
namespace {

using testing::ElementsAre;

constexpr Duration us{1'000};
// A lookup takes 1 us, each page 500 ns.
constexpr EngineWorld::Options slow{.times = {.lookup = us, .page = us / 2}};

CachedEngineConfig prefetching(PrefetchPolicy policy, Duration base = us) {
  CachedEngineConfig config = EngineWorld::plain();
  config.prefetch = {
      .policy = policy, .tokens_min = 1, .base = base, .each_1024_tokens = Duration(0)};
  return config;
}

TEST(Prefetch, WhatThePoolHasIsReadAndTheRestComputed) {
  EngineWorld world(prefetching(PrefetchPolicy::wait_complete), slow);
  world.pool.store(1);
  world.pool.store(2);
  const RequestRecord record = world.serve({1, 2, 3});
  EXPECT_EQ(record.pool_hits, 2);
  EXPECT_EQ(misses(record, MissReason::cold), 1);
  EXPECT_EQ(record.prefetch_end - record.arrival, 2 * us);
  expect_near(record.ttft().value(), 2 * us + pass_time(10, 20));
  // They stay on the GPUs.
  EXPECT_EQ(world.serve({1, 2}).gpu_hits, 2);
}

TEST(Prefetch, OnlyWhatIsNotHereIsAskedFor) {
  EngineWorld world(prefetching(PrefetchPolicy::wait_complete), slow);
  world.pool.keeps_reads = true;
  (void)world.serve({1, 2});
  world.pool.store(3);
  const RequestRecord record = world.serve({1, 2, 3});
  EXPECT_EQ(record.gpu_hits, 2);
  EXPECT_EQ(record.pool_hits, 1);
  EXPECT_THAT(world.pool.reads, ElementsAre(3));
}

TEST(Prefetch, BestEffortWaitsForNothing) {
  EngineWorld world(prefetching(PrefetchPolicy::best_effort), slow);
  world.pool.store(1);
  const RequestRecord record = world.serve({1, 2});
  EXPECT_EQ(record.pool_hits, 0);
  EXPECT_EQ(misses(record, MissReason::timed_out), 1);  // it was there
  EXPECT_EQ(misses(record, MissReason::cold), 1);
  EXPECT_EQ(world.pool.given_up, 1);
  expect_near(record.ttft().value(), pass_time(20));
}

TEST(Prefetch, BestEffortUsesWhatCameWhileTheGpusWereAtWork) {
  EngineWorld world(prefetching(PrefetchPolicy::best_effort), slow);
  world.pool.store(1);
  world.pool.store(2);
  (void)world.submit({9});
  const ServedRequest& second = world.submit({1, 2, 3});
  world.settle();
  EXPECT_EQ(second.record.pool_hits, 2);
  expect_near(second.record.ttft().value(), pass_time(10) + pass_time(10, 20));
}

TEST(Prefetch, F7TheTimeOutBindsAndTheCompletedLeadingRunIsUsed) {
  EngineWorld world(prefetching(PrefetchPolicy::timeout, Duration(1'700)), slow);
  world.pool.store(1);
  world.pool.store(2);
  const RequestRecord record = world.serve({1, 2, 3});
  EXPECT_EQ(record.pool_hits, 1);
  EXPECT_EQ(misses(record, MissReason::timed_out), 1);
  EXPECT_EQ(misses(record, MissReason::cold), 1);
  EXPECT_EQ(record.prefetch_end - record.arrival, Duration(1'700));
  expect_near(record.ttft().value(), Duration(1'700) + pass_time(20, 10));
  EXPECT_EQ(world.pool.given_up, 1);
}

TEST(Prefetch, TheTimeOutHoldsForTheLookupToo) {
  EngineWorld world(prefetching(PrefetchPolicy::timeout, us / 2), slow);
  world.pool.store(1);
  const RequestRecord record = world.serve({1});
  EXPECT_EQ(misses(record, MissReason::timed_out), 1);
  EXPECT_EQ(record.prefetch_end - record.arrival, us / 2);
}

TEST(Prefetch, OneThatWaitsLetsThoseBehindItPass) {
  EngineWorld world(prefetching(PrefetchPolicy::wait_complete),
                    {.times = {.lookup = us, .page = 100 * us}});
  world.pool.store(1);
  const ServedRequest& waits = world.submit({1, 2});
  const ServedRequest& passes = world.submit({3});
  world.settle();
  expect_near(passes.record.ttft().value(), us + pass_time(10));
  expect_near(waits.record.ttft().value(), 101 * us + pass_time(10, 10));
}

TEST(Prefetch, FewerTokensThanAreWorthItAreComputed) {
  CachedEngineConfig config = prefetching(PrefetchPolicy::wait_complete);
  config.prefetch.tokens_min = 15;
  EngineWorld world(config, slow);
  world.pool.store(1);
  const RequestRecord record = world.serve({1, 2});
  EXPECT_EQ(misses(record, MissReason::not_asked), 1);
  EXPECT_EQ(misses(record, MissReason::cold), 1);
  expect_near(record.ttft().value(), us + pass_time(20));
  // Of a prompt that is shorter than that the pool is not asked.
  EXPECT_EQ(misses(world.serve({7}), MissReason::not_asked), 1);
}

TEST(Prefetch, WithoutMemoryOnTheHostNothingIsFetched) {
  // 10 blocks more than on the GPUs, of which prefetches may have 8.
  EngineWorld world(
      prefetching(PrefetchPolicy::wait_complete),
      {.gpu_blocks = 30, .host_blocks = 40, .times = {.lookup = us, .page = 100 * us}});
  for (std::uint64_t id = 1; id <= 20; ++id) world.pool.store(id);
  const ServedRequest& first = world.submit({1, 2, 3, 4, 5, 6, 7, 8});
  world.kernel.run_until(world.kernel.now() + 2 * us);
  const ServedRequest& second = world.submit({11, 12});
  world.settle();
  EXPECT_EQ(first.record.pool_hits, 8);
  EXPECT_EQ(misses(second.record, MissReason::not_asked), 2);
}

TEST(Prefetch, EachMissHasTheReasonThatThePoolGives) {
  EngineWorld world(prefetching(PrefetchPolicy::wait_complete), slow);
  world.pool.store(1);
  world.pool.store(4);
  const RequestRecord record = world.serve({1, 2, 3, 4});
  EXPECT_EQ(record.pool_hits, 1);
  EXPECT_EQ(misses(record, MissReason::cold), 2);
  EXPECT_EQ(misses(record, MissReason::behind_a_miss), 1);
}

TEST(Prefetch, TwoThatFetchTheSameKeepItOnce) {
  EngineWorld world(prefetching(PrefetchPolicy::wait_complete), slow);
  world.pool.store(1);
  world.pool.store(2);
  (void)world.submit({1, 2, 3});
  (void)world.submit({1, 2, 4});
  world.settle();
  EXPECT_EQ(world.engine->tree().blocks(), 4);
  EXPECT_EQ(world.engine->tree().free().gpu, 96);
  EXPECT_EQ(world.engine->tree().free().host, 996);
}

// ---- writing ------------------------------------------------------------------------------------

TEST(Writing, WriteThroughPutsWhatIsComputed) {
  EngineWorld world(prefetching(PrefetchPolicy::wait_complete), slow);
  (void)world.serve({1, 2});
  EXPECT_TRUE(world.pool.has(1) && world.pool.has(2));
  EXPECT_EQ(world.pool.puts, 2);
  (void)world.serve({1, 2, 3});
  EXPECT_EQ(world.pool.puts, 3) << "what is there is not put again";
}

TEST(Writing, WhatCameFromThePoolIsNotPutAgain) {
  EngineWorld world(prefetching(PrefetchPolicy::wait_complete), slow);
  world.pool.store(1);
  (void)world.serve({1});
  EXPECT_EQ(world.pool.puts, 0);
}

TEST(Writing, SelectivePutsAtTheUseThatItIsSetTo) {
  CachedEngineConfig config = prefetching(PrefetchPolicy::wait_complete);
  config.write = WritePolicy::selective;
  config.selective_uses = 3;
  EngineWorld world(config, slow);
  (void)world.serve({1, 2});
  (void)world.serve({1, 3});
  EXPECT_EQ(world.pool.puts, 0);
  (void)world.serve({1, 4});
  EXPECT_TRUE(world.pool.has(1));
  EXPECT_EQ(world.pool.puts, 1);
}

TEST(Writing, WriteBackPutsWhatLeavesTheGpus) {
  CachedEngineConfig config = prefetching(PrefetchPolicy::wait_complete);
  config.write = WritePolicy::write_back;
  EngineWorld world(config, {.gpu_blocks = 3, .times = {.lookup = us, .page = us / 2}});
  (void)world.serve({1, 2, 3});
  EXPECT_EQ(world.pool.puts, 0);
  (void)world.serve({4});
  EXPECT_EQ(world.pool.puts, 1);
  EXPECT_TRUE(world.pool.has(3)) << "the end of the prompt leaves first";
  EXPECT_EQ(world.serve({1, 2}).gpu_hits, 2);
}

TEST(Writing, AnEngineReadsWhatAnotherHasPut) {
  EngineWorld world(prefetching(PrefetchPolicy::wait_complete), slow);
  std::unique_ptr<CachedEngine> other =
      CachedEngine::make(world.kernel, world.compute,
                         {.page_tokens = 10,
                          .host_memory = Bytes{320'000},
                          .prefetch = {.policy = PrefetchPolicy::wait_complete, .tokens_min = 1},
                          .decoding = Decoding::elsewhere},
                         {.gpus = {PartId{0}}, .drams = {PartId{1}}}, &world.pool, world)
          .value();
  (void)world.serve({1, 2});
  std::swap(world.engine, other);
  EXPECT_EQ(world.serve({1, 2, 3}).pool_hits, 2);
}

}  // namespace
}  // namespace larder::sim
