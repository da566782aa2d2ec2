#include "sim/serving/cached_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sim/serving/engine_world.h"

namespace larder::sim {
namespace {

using testing::ElementsAre;

constexpr Duration us{1'000};

TEST(CachedEngine, APromptIsComputedAndThenFoundOnTheGpus) {
  EngineWorld world;
  const RequestRecord first = world.serve({1, 2});
  expect_near(first.ttft().value(), pass_time(20));
  EXPECT_EQ(first.computed_blocks(), 2);
  EXPECT_EQ(misses(first, MissReason::cold), 2);
  EXPECT_EQ(first.computed_tokens, 20);
  const RequestRecord longer = world.serve({1, 2, 3});
  EXPECT_EQ(longer.gpu_hits, 2);
  EXPECT_EQ(longer.computed_tokens, 10);
  expect_near(longer.ttft().value(), pass_time(10, 20));
}

TEST(CachedEngine, E7ARequestThatFindsAllItsBlocksComputesItsLastTokenAndFinishes) {
  EngineWorld world;
  (void)world.serve({1, 2});
  const RequestRecord again = world.serve({1, 2});
  EXPECT_EQ(again.outcome, Outcome::completed);
  EXPECT_EQ(again.gpu_hits, 2);
  EXPECT_EQ(again.computed_tokens, 1);
  expect_near(again.ttft().value(), pass_time(1, 19));
}

TEST(CachedEngine, APromptOfNoWholePageIsComputedToo) {
  EngineWorld world;
  ServedRequest request;
  request.record.input_tokens = 7;
  request.record.arrival = world.kernel.now();
  world.engine->submit(request);
  world.settle();
  expect_near(request.record.ttft().value(), pass_time(7));
  EXPECT_EQ(request.record.hits(), 0);
}

TEST(CachedEngine, ALongPromptIsComputedInChunks) {
  CachedEngineConfig config = EngineWorld::plain();
  config.chunk_tokens = 15;
  EngineWorld world(config);
  const RequestRecord record = world.serve({1, 2, 3});
  expect_near(record.ttft().value(), pass_time(15) + pass_time(15, 15));
}

TEST(CachedEngine, WhatComesDuringAPassIsComputedTogetherAfterIt) {
  EngineWorld world;
  const ServedRequest& first = world.submit({1});
  const ServedRequest& second = world.submit({2});
  const ServedRequest& third = world.submit({3, 4});
  EXPECT_EQ(world.engine->load().waiting, 3);  // while the pool is asked
  EXPECT_EQ(world.engine->load().tokens, 40);
  world.settle();
  expect_near(first.record.ttft().value(), pass_time(10));
  // 30 tokens; 55 and 210 pairs.
  const Duration both = Duration(30'000 + (55 + 210) * 25);
  expect_near(second.record.ttft().value(), pass_time(10) + both);
  EXPECT_EQ(second.record.first_token, third.record.first_token);
  EXPECT_EQ(second.record.prefill_begin, first.record.first_token);
  EXPECT_THAT(world.ended_in_order, ElementsAre(0, 1, 2));
  EXPECT_EQ(world.first_tokens, 3);
  expect_near(world.engine->busy().prompts, pass_time(10) + both);
}

TEST(CachedEngine, APassHasNoMoreTokensThanAChunk) {
  CachedEngineConfig config = EngineWorld::plain();
  config.chunk_tokens = 25;
  EngineWorld world(config, {.pool = false});
  const ServedRequest& first = world.submit({1});
  const ServedRequest& second = world.submit({2, 3});
  const ServedRequest& third = world.submit({4});
  world.settle();
  // The second pass: 20 tokens of the second, 5 of the third. The third: the other 5.
  const Duration mixed = Duration(25'000 + (210 + 15) * 25);
  expect_near(second.record.ttft().value(), pass_time(10) + mixed);
  expect_near(third.record.ttft().value(), pass_time(10) + mixed + pass_time(5, 5));
  EXPECT_EQ(first.record.outcome, Outcome::completed);
}

TEST(CachedEngine, WithoutAPoolNobodyIsAsked) {
  EngineWorld world(EngineWorld::plain(), {.pool = false});
  const RequestRecord record = world.serve({1, 2});
  EXPECT_EQ(misses(record, MissReason::not_asked), 2);
  EXPECT_EQ(record.prefetch_end, instant_never);
}

// ---- room ---------------------------------------------------------------------------------------

TEST(CachedEngine, WhatLeavesTheGpusIsFoundOnTheHost) {
  for (const WritePolicy policy : {WritePolicy::write_through, WritePolicy::write_back}) {
    CachedEngineConfig config = EngineWorld::plain();
    config.write = policy;
    EngineWorld world(config, {.gpu_blocks = 3, .pool = false});
    (void)world.serve({1, 2});
    (void)world.serve({3, 4});  // 2 leaves
    const RequestRecord again = world.serve({1, 2});
    EXPECT_EQ(again.gpu_hits, 1);
    EXPECT_EQ(again.host_hits, 1);
    EXPECT_EQ(again.computed_tokens, 1);
    EXPECT_EQ(world.engine->tree().free().gpu, 0);
  }
}

TEST(CachedEngine, WithoutASecondUseSelectiveLosesWhatLeavesTheGpus) {
  CachedEngineConfig config = EngineWorld::plain();
  config.write = WritePolicy::selective;
  EngineWorld world(config, {.gpu_blocks = 3, .pool = false});
  (void)world.serve({1, 2});
  (void)world.serve({1});
  (void)world.serve({3, 4, 5});
  const RequestRecord again = world.serve({1, 2});
  EXPECT_EQ(again.host_hits, 1);  // 1 was used twice, 2 once
  EXPECT_EQ(again.computed_blocks(), 1);
}

TEST(CachedEngine, ARequestThatFindsNoRoomWaitsForThoseThatRun) {
  CachedEngineConfig config = EngineWorld::plain();
  config.decoding = Decoding::waits;
  EngineWorld world(config, {.gpu_blocks = 4, .pool = false});
  const ServedRequest& first = world.submit({1, 2}, 10);     // 3 blocks, of which 2 stay
  const ServedRequest& second = world.submit({3, 4, 5}, 1);  // 4, with its first token
  const ServedRequest& third = world.submit({6});            // behind it
  world.settle();
  EXPECT_EQ(second.record.prefill_begin, first.record.end);
  EXPECT_GE(third.record.prefill_begin, second.record.prefill_begin);
  EXPECT_GT(first.record.end, first.record.first_token);
}

TEST(CachedEngine, WhatCanNeverBeServedIsRefused) {
  CachedEngineConfig config = EngineWorld::plain();
  config.waiting_max = 2;
  config.decoding = Decoding::waits;
  EngineWorld world(config, {.gpu_blocks = 4});
  const ServedRequest& too_long = world.submit({1}, 991);
  const ServedRequest& too_large = world.submit({1, 2, 3, 4}, 1);
  EXPECT_TRUE(world.ended_in_order.empty()) << "told from inside submit";
  const ServedRequest& first = world.submit({1});
  (void)world.submit({2});
  const ServedRequest& one_too_many = world.submit({3});
  world.settle();
  EXPECT_EQ(too_long.record.outcome, Outcome::too_long);
  EXPECT_EQ(too_large.record.outcome, Outcome::too_large);
  EXPECT_EQ(one_too_many.record.outcome, Outcome::queue_full);
  EXPECT_EQ(first.record.outcome, Outcome::completed);
  EXPECT_EQ(too_long.record.prefill_begin, instant_never);
  EXPECT_EQ(world.ended_in_order.size(), 5);
}

TEST(CachedEngine, AnEngineThatCannotHoldAPageIsNotMade) {
  Kernel kernel(1);
  EngineWorld served;
  const auto problem = [&](std::uint64_t gpu_blocks, std::uint64_t host_bytes) {
    const Compute compute = Compute::make(tiny_shape(gpu_blocks)).value();
    const auto engine =
        CachedEngine::make(kernel, compute, {.page_tokens = 20, .host_memory = Bytes{host_bytes}},
                           {.gpus = {PartId{0}}}, nullptr, served);
    return engine ? "made" : engine.error().facts().detail;
  };
  EXPECT_EQ(problem(1, 10'000),
            "the GPUs have room for the KV of 10 tokens of tiny, which is less than a page of 20");
  EXPECT_EQ(problem(2, 639), "the host's memory for KV is less than a page, of 640 bytes");
  EXPECT_EQ(problem(2, 640), "made");
}

TEST(CachedEngine, AnIdBehindAnotherBlockThanItIsKnownForIsComputedAndNotKept) {
  EngineWorld world;
  (void)world.serve({1, 2, 3});
  const RequestRecord broken = world.serve({1, 3, 4});
  EXPECT_EQ(broken.outcome, Outcome::completed);
  EXPECT_EQ(broken.gpu_hits, 1);
  const RequestRecord doubled = world.serve({5, 5, 5});
  EXPECT_EQ(doubled.outcome, Outcome::completed);
  EXPECT_EQ(world.serve({1, 2, 3}).gpu_hits, 3);
  EXPECT_EQ(world.engine->tree().free().gpu + world.engine->tree().blocks(), 100);
}

// ---- decoding -----------------------------------------------------------------------------------

// A step of requests with so many tokens of context in all.
Duration step_time(std::int64_t requests, std::int64_t contexts) {
  return Duration(std::max<std::int64_t>(requests * 1'000, 1'600) + contexts * 32);
}

CachedEngineConfig decoding(Decoding how) {
  CachedEngineConfig config = EngineWorld::plain();
  config.decoding = how;
  return config;
}

TEST(CachedEngine, AnAnswerIsDecodedStepByStep) {
  EngineWorld world(decoding(Decoding::waits), {.pool = false});
  const RequestRecord record = world.serve({1, 2}, 3);
  expect_near(record.end - record.first_token, step_time(1, 21) + step_time(1, 22));
  expect_near(world.engine->busy().decoding, record.end - record.first_token);
  EXPECT_EQ(world.engine->tree().free().gpu, 98);  // the answer's room is free again
}

TEST(CachedEngine, APromptWaitsForTheStepUnderWayAndDecodingForThePrompt) {
  EngineWorld world(decoding(Decoding::waits), {.pool = false});
  const ServedRequest& first = world.submit({1, 2}, 100);
  world.kernel.run_until(Instant{} + pass_time(20) + step_time(1, 21) + us);
  const ServedRequest& second = world.submit({3});  // in the second step
  world.settle();
  const Duration steps = step_time(1, 21) + step_time(1, 22);
  expect_near(second.record.prefill_begin - first.record.first_token, steps);
  expect_near(second.record.first_token - second.record.prefill_begin, pass_time(10));
  Duration all = pass_time(10);
  for (std::int64_t context = 21; context < 21 + 99; ++context) all += step_time(1, context);
  expect_near(first.record.end - first.record.first_token, all);
}

TEST(CachedEngine, AMixedPassDecodesTheNextTokenOfTheOthers) {
  EngineWorld world(decoding(Decoding::mixed), {.pool = false});
  const ServedRequest& first = world.submit({1, 2}, 100);
  world.kernel.run_until(Instant{} + pass_time(20) + us);
  const ServedRequest& second = world.submit({3});  // in the first step
  world.settle();
  expect_near(second.record.prefill_begin - first.record.first_token, step_time(1, 21));
  // 10 tokens of a prompt and one of an answer, which reads its context of 22.
  const Duration mixed(11'000 + 55 * 25 + 22 * 32);
  expect_near(second.record.first_token - second.record.prefill_begin, mixed);
  Duration all = mixed + step_time(1, 21);
  for (std::int64_t context = 23; context < 21 + 99; ++context) all += step_time(1, context);
  expect_near(first.record.end - first.record.first_token, all);
}

TEST(CachedEngine, AnswersThatAreDecodedTogetherEndOneAfterTheOther) {
  EngineWorld world(decoding(Decoding::waits), {.pool = false});
  (void)world.submit({9});
  const ServedRequest& first = world.submit({1}, 4);  // both in the second pass
  const ServedRequest& second = world.submit({2}, 3);
  world.settle();
  EXPECT_EQ(first.record.first_token, second.record.first_token);
  const Duration two = Duration(2 * 2'000 + (22 + 24) * 32);
  expect_near(second.record.end - second.record.first_token, two);
  expect_near(first.record.end - second.record.end, step_time(1, 13));
}

// ---- losing an engine ---------------------------------------------------------------------------

TEST(CachedEngine, ALostEngineFailsAllItsRequestsOnceAndBeginsEmpty) {
  CachedEngineConfig config = decoding(Decoding::mixed);
  EngineWorld world(config, {.times = {.lookup = 10 * us, .page = 50 * us}});
  (void)world.serve({1, 2});
  world.pool.store(8);
  (void)world.submit({3}, 100);
  world.kernel.run_until(world.kernel.now() + 30 * us);  // computed, being put and decoded
  (void)world.submit({8, 9});                            // being read
  world.kernel.run_until(world.kernel.now() + 15 * us);
  (void)world.submit({7});  // being looked up
  EXPECT_GT(world.pool.under_way(), 1);
  world.engine->lose();
  EXPECT_EQ(world.pool.under_way(), 0);
  EXPECT_EQ(world.ended_in_order.size(), 1) << "told from inside lose";
  world.settle();
  EXPECT_THAT(world.ended_in_order, ElementsAre(0, 1, 2, 3));
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(world.requests[i]->record.outcome, Outcome::engine_lost);
  }
  EXPECT_EQ(world.engine->tree().blocks(), 0);
  EXPECT_EQ(world.serve({1, 2}).pool_hits, 2);
}

TEST(CachedEngine, PoliciesHaveNames) {
  EXPECT_EQ(write_policy_named("selective"), WritePolicy::selective);
  EXPECT_EQ(write_policy_name(WritePolicy::write_back), "write-back");
  EXPECT_FALSE(write_policy_named("write_back"));
  EXPECT_EQ(decoding_named("elsewhere"), Decoding::elsewhere);
  EXPECT_EQ(decoding_name(Decoding::mixed), "mixed");
  EXPECT_FALSE(decoding_named(""));
}

}  // namespace
}  // namespace larder::sim
