#include "sim/serving/serving.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "sim/serving/cached_engine.h"
#include "sim/serving/pool_only_engine.h"
#include "tests/serving/memory_pool.h"
#include "tests/support/temporary.h"
#include "tests/unit/sim/serving/engine_world.h"
#include "workloads/generate.h"
#include "workloads/mooncake.h"

namespace larder::sim {

using namespace literals;

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using workloads::BlockId;
using workloads::Request;

struct Records final : RecordSink {
  void take(const ServedRequest& request) override { all.push_back(request.record); }
  std::vector<RequestRecord> all;
};

std::uint64_t sum(const auto& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

// ---- pages --------------------------------------------------------------------------------------

std::string pages(std::uint64_t tokens, std::uint32_t block_tokens, std::uint32_t page_tokens) {
  const std::vector<BlockId> blocks{{11}, {12}, {13}, {14}, {15}};
  std::vector<std::uint64_t> made;
  const Request request{.input_tokens = tokens, .block_tokens = block_tokens, .blocks = blocks};
  const Status status = pages_of(request, page_tokens, made);
  return status ? testing::PrintToString(made) : status.error().facts().detail;
}

TEST(Pages, ABlockOfTheTraceIsAPage) { EXPECT_EQ(pages(75, 16, 16), "{ 11, 12, 13, 14, 15 }"); }

TEST(Pages, SeveralBlocksMakeAPageWithTheIdOfTheLast) {
  EXPECT_EQ(pages(80, 16, 32), "{ 12, 14 }");
  EXPECT_EQ(pages(80, 16, 80), "{ 15 }");
  EXPECT_EQ(pages(80, 16, 96), "{}");
}

TEST(Pages, PagesThatBlocksDoNotMakeAreRefused) {
  EXPECT_EQ(pages(80, 16, 24),
            "the trace has blocks of 16 tokens, of which pages of 24 cannot be made: choose a "
            "multiple");
  EXPECT_THAT(pages(80, 16, 8), HasSubstr("pages of 8 cannot be made"));
  EXPECT_THAT(pages(80, 16, 0), HasSubstr("pages of 0 cannot be made"));
}

// ---- a cluster ----------------------------------------------------------------------------------

struct ClusterOptions {
  Serving::Config serving{.page_tokens = 16};
  CachedEngineConfig engine{.page_tokens = 16, .prefetch = {.tokens_min = 1}};
  std::uint32_t engines = 3;
  std::uint64_t gpu_blocks = 300;
  std::uint64_t host_blocks = 1'000;
  std::size_t pool_pages = 5'000;
  MemoryPool::Times times{.lookup = Duration(50'000), .page = Duration(20'000)};
  double slower = 300;  // than the tiny model's GPU
  bool caches = true;
};

// Engines of the tiny model on a slower GPU, and what they record.
struct Cluster {
  explicit Cluster(ClusterOptions options)
      : pool(kernel, options.pool_pages, options.times),
        compute(Compute::make(shape(options)).value()),
        serving(kernel, options.serving, records) {
    options.engine.host_memory = Bytes{512 * options.host_blocks};
    for (std::uint32_t i = 0; i < options.engines; ++i) {
      if (!options.caches) {
        serving.add(std::make_unique<PoolOnlyEngine>(kernel, pool, PartId{0}, serving));
        continue;
      }
      serving.add(CachedEngine::make(kernel, compute, options.engine,
                                     {.gpus = {PartId{0}}, .drams = {PartId{1}, PartId{2}}}, &pool,
                                     serving)
                      .value());
    }
  }
  static ServingShape shape(const ClusterOptions& options) {
    ServingShape shape = tiny_shape(0);
    shape.model.context_tokens = 100'000;
    shape.gpu.memory = Bytes{1'600 + options.gpu_blocks * 512};
    shape.gpu.fp16_flops /= options.slower;
    return shape;
  }

  void check() {
    const ServingTotals& totals = serving.totals();
    EXPECT_TRUE(serving.done());
    EXPECT_EQ(totals.in_flight(), 0);
    EXPECT_EQ(sum(totals.ended), totals.arrived);
    EXPECT_EQ(records.all.size(), totals.arrived);
    std::vector<std::uint64_t> numbers;
    for (const RequestRecord& record : records.all) {
      numbers.push_back(record.number);
      if (record.prefill_begin == instant_never) continue;
      EXPECT_EQ(record.hits() + sum(record.misses), record.blocks);
      EXPECT_LE(record.arrival, record.prefill_begin);
      EXPECT_LE(record.prefill_begin, std::min(record.first_token, record.end));
    }
    std::ranges::sort(numbers);
    for (std::size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(numbers[i], i);
    kernel.run(10'000'000);  // what was still to be written
    EXPECT_EQ(pool.under_way(), 0);
    for (std::size_t i = 0; i < serving.engines(); ++i) {
      if (const auto* engine = dynamic_cast<CachedEngine*>(&serving.engine(i))) {
        engine->check_invariants();
      }
    }
  }

  Kernel kernel{7};
  MemoryPool pool;
  Compute compute;
  Records records;
  Serving serving;
};

std::unique_ptr<workloads::TraceReader> trace(std::uint64_t requests, double per_second,
                                              std::uint64_t seed = 1) {
  workloads::GeneratorOptions options{.seed = seed,
                                      .requests = requests,
                                      .requests_per_second = per_second,
                                      .block_tokens = 16,
                                      .context_tokens_max = 2'000};
  options.chat = {.weight = 1,
                  .system_tokens = 100,
                  .requests = 4,
                  .first_tokens = 100,
                  .added_tokens = 60,
                  .output_tokens = 20,
                  .think_time = seconds(2)};
  options.agent.weight = options.document.weight = 0;
  return workloads::generate_trace(options).value();
}

TEST(Serving, E12TheHitsOfTheTiersSumToTheTotal) {
  ClusterOptions options;
  options.host_blocks = 400;  // little more than on the GPUs
  Cluster cluster(options);
  const auto reader = trace(2'000, 3);
  ASSERT_TRUE(cluster.serving.run(*reader));
  cluster.check();
  const ServingTotals& totals = cluster.serving.totals();
  std::uint64_t hits = 0;
  std::uint64_t blocks = 0;
  for (const RequestRecord& record : cluster.records.all) {
    hits += record.blocks - record.computed_blocks();
    blocks += record.blocks;
  }
  EXPECT_EQ(totals.gpu_hits + totals.host_hits + totals.pool_hits, hits);
  EXPECT_EQ(hits + sum(totals.misses), blocks);
  EXPECT_EQ(totals.blocks, blocks);
  EXPECT_GT(totals.gpu_hits, 0);
  EXPECT_GT(totals.host_hits, 0);
  EXPECT_GT(totals.pool_hits, 0);
  EXPECT_DOUBLE_EQ(totals.hit_ratio().value(),
                   static_cast<double>(hits) / static_cast<double>(blocks));
}

TEST(Serving, E7WithoutRequestsThereIsNoHitRatio) {
  EXPECT_FALSE(ServingTotals().hit_ratio());
  EXPECT_FALSE(Cluster({}).serving.pressure().overloaded());
}

TEST(Serving, E9WhatTheWarmUpDoesIsNotCounted) {
  ClusterOptions options;
  options.serving.warmup_requests = 150;
  Cluster cluster(options);
  const auto reader = trace(200, 3);
  ASSERT_TRUE(cluster.serving.run(*reader));
  std::uint64_t hits = 0;
  std::uint64_t blocks = 0;
  for (const RequestRecord& record : cluster.records.all) {
    if (record.number < 150) continue;
    hits += record.hits();
    blocks += record.blocks;
  }
  EXPECT_EQ(cluster.serving.totals().hits(), hits);
  EXPECT_EQ(cluster.serving.totals().blocks, blocks);
  EXPECT_EQ(cluster.serving.totals().completed(), 200);
}

TEST(Serving, E5RequestsInAreThoseThatCompletedWereRejectedOrFailed) {
  ClusterOptions options;
  options.engine.waiting_max = 20;
  options.gpu_blocks = 40;  // long prompts do not fit
  Cluster cluster(options);
  const auto reader = trace(3'000, 40);
  ASSERT_TRUE(cluster.serving.begin(*reader));
  cluster.kernel.run_until(Instant{} + seconds(30));
  cluster.serving.lose_engine(1);
  cluster.kernel.run_until(Instant{} + seconds(40));
  for (std::size_t i = 0; i < 3; ++i) cluster.serving.lose_engine(i);
  cluster.kernel.run_until(Instant{} + seconds(45));
  for (std::size_t i = 0; i < 3; ++i) cluster.serving.restore_engine(i);
  while (!cluster.serving.done()) ASSERT_TRUE(cluster.kernel.step());
  cluster.check();
  const auto& ended = cluster.serving.totals().ended;
  for (const Outcome outcome :
       {Outcome::completed, Outcome::too_large, Outcome::queue_full, Outcome::engine_lost}) {
    EXPECT_GT(ended[static_cast<std::size_t>(outcome)], 0) << outcome_name(outcome);
  }
  const ServingTotals& totals = cluster.serving.totals();
  EXPECT_EQ(totals.arrived, 3'000);
  EXPECT_EQ(totals.completed() + totals.rejected() + totals.failed(), 3'000);
}

TEST(Serving, E9ARateAboveCapacityIsShown) {
  const auto pressure = [](double per_second) {
    Cluster cluster({});
    const auto reader = trace(2'000, per_second);
    EXPECT_TRUE(cluster.serving.run(*reader));
    return cluster.serving.pressure();
  };
  const Pressure low = pressure(1);
  EXPECT_FALSE(low.overloaded());
  EXPECT_LT(low.load, 0.5);
  EXPECT_LT(low.waiting_at_last_arrival, 20);
  EXPECT_NEAR(low.ended_per_second, low.arrivals_per_second, 0.02);
  const Pressure high = pressure(40);
  EXPECT_TRUE(high.overloaded());
  EXPECT_GT(high.load, 1);
  EXPECT_GT(high.queue_growth_per_second, 1);
  EXPECT_LT(high.ended_per_second, 0.9 * high.arrivals_per_second);
  EXPECT_GT(high.waiting_at_last_arrival, 200);
}

TEST(Serving, E8TheSameRunGivesTheSameRecords) {
  const auto run = [] {
    Cluster cluster({});
    const auto reader = trace(1'000, 5);
    EXPECT_TRUE(cluster.serving.run(*reader));
    return std::pair(cluster.records.all, cluster.kernel.hash());
  };
  EXPECT_EQ(run(), run());
}

TEST(Serving, PrefixAwareRoutingFindsMoreOnTheEnginesThanRoundRobin) {
  const auto local_hits = [](RouterPolicy policy) {
    ClusterOptions options;
    options.serving.router = policy;
    Cluster cluster(options);
    const auto reader = trace(2'000, 3);
    EXPECT_TRUE(cluster.serving.run(*reader));
    return cluster.serving.totals().gpu_hits + cluster.serving.totals().host_hits;
  };
  EXPECT_GT(local_hits(RouterPolicy::prefix_aware), local_hits(RouterPolicy::round_robin) * 6 / 5);
}

TEST(Serving, AClosedLoopKeepsToThePaceOfTheEngines) {
  // The generator tells sessions; 40 a second is far more than the engines can do.
  ClusterOptions options;
  options.serving.closed = true;
  Cluster cluster(options);
  const auto reader = trace(1'000, 40);
  ASSERT_TRUE(cluster.serving.run(*reader));
  cluster.check();
  std::vector<Instant> ended(1'000);
  for (const RequestRecord& record : cluster.records.all) {
    EXPECT_EQ(record.outcome, Outcome::completed);
    ended[record.number] = record.end;
  }
  // Nobody asks again before the answer.
  std::vector<std::pair<workloads::Speaker, RequestRecord>> by_speaker;
  for (const RequestRecord& record : cluster.records.all) {
    by_speaker.emplace_back(record.speaker.value(), record);
  }
  std::ranges::sort(by_speaker, {},
                    [](const auto& each) { return std::pair(each.first, each.second.number); });
  std::size_t later_ones = 0;
  for (std::size_t i = 1; i < by_speaker.size(); ++i) {
    if (by_speaker[i].first != by_speaker[i - 1].first) continue;
    ++later_ones;
    EXPECT_GE(by_speaker[i].second.arrival, by_speaker[i - 1].second.end);
  }
  EXPECT_GT(later_ones, 500);
}

TEST(Serving, BlocksThatMakeNoPagesEndTheRun) {
  ClusterOptions options;
  options.serving.page_tokens = options.engine.page_tokens = 24;
  Cluster cluster(options);
  const auto reader = trace(10, 3);
  const Status status = cluster.serving.run(*reader);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message(), HasSubstr("blocks of 16 tokens"));
}

TEST(Serving, EnginesWithoutCachesOnlyUseThePool) {
  ClusterOptions options;
  options.caches = false;
  options.pool_pages = 1'000'000;
  options.times = {.lookup = Duration(1'000), .page = Duration(1'000)};
  Cluster cluster(options);
  const auto reader = trace(2'000, 0.05);  // one after the other
  ASSERT_TRUE(cluster.serving.run(*reader));
  cluster.check();
  const ServingTotals& totals = cluster.serving.totals();
  EXPECT_EQ(totals.gpu_hits + totals.host_hits, 0);
  const auto again = trace(2'000, 0.05);
  // As a pool without limits has it.
  std::uint64_t expected = 0;
  boost::unordered_flat_map<std::uint64_t, bool> seen;
  for (const Request* request = *again->next(); request != nullptr; request = *again->next()) {
    for (const BlockId block : request->blocks) {
      if (!seen.try_emplace(block.value, true).second) ++expected;
    }
  }
  EXPECT_EQ(totals.pool_hits, expected);
}

TEST(Serving, ALostEngineWithoutCachesFailsItsRequests) {
  ClusterOptions options;
  options.caches = false;
  options.engines = 1;
  options.times = {.lookup = seconds(1), .page = seconds(1)};
  Cluster cluster(options);
  const auto reader = trace(50, 100);
  ASSERT_TRUE(cluster.serving.begin(*reader));
  cluster.kernel.run_until(Instant{} + seconds(2));
  cluster.serving.lose_engine(0);
  EXPECT_EQ(cluster.pool.under_way(), 0);
  while (!cluster.serving.done()) ASSERT_TRUE(cluster.kernel.step());
  cluster.check();
  EXPECT_GT(cluster.serving.totals().ended[static_cast<std::size_t>(Outcome::engine_lost)], 0);
}

// ---- all settings together ----------------------------------------------------------------------

template <class Value>
Value one_of(Random& random, std::initializer_list<Value> values) {
  return values.begin()[random.below(values.size())];
}

TEST(Serving, WhateverIsSetAllRequestsEndAndAllBlocksAreAccountedFor) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    Random random(seed);
    ClusterOptions options;
    options.engines = static_cast<std::uint32_t>(1 + random.below(4));
    options.gpu_blocks = 130 + random.below(200);  // the longest prompt and answer take 135
    options.host_blocks = one_of<std::uint64_t>(random, {1, 100, 400, 2'000});
    options.pool_pages = one_of<std::size_t>(random, {1, 300, 100'000});
    options.times = {.lookup = Duration(random.below(5'000'000)),
                     .page = Duration(random.below(2'000'000))};
    options.engine.write = one_of(
        random, {WritePolicy::write_through, WritePolicy::selective, WritePolicy::write_back});
    options.engine.prefetch.policy = one_of(
        random,
        {PrefetchPolicy::best_effort, PrefetchPolicy::wait_complete, PrefetchPolicy::timeout});
    options.engine.prefetch.tokens_min = one_of<std::uint64_t>(random, {1, 64});
    options.engine.prefetch.base = milliseconds(random.below(20));
    options.engine.decoding =
        one_of(random, {Decoding::elsewhere, Decoding::waits, Decoding::mixed});
    options.engine.chunk_tokens = one_of<std::uint32_t>(random, {16, 100, 8'192});
    options.engine.waiting_max = one_of<std::uint32_t>(random, {5, 100'000});
    options.serving.router = one_of(random, {RouterPolicy::round_robin, RouterPolicy::least_loaded,
                                             RouterPolicy::prefix_aware});
    options.serving.closed = random.chance(0.3);
    SCOPED_TRACE("seed " + std::to_string(seed));
    Cluster cluster(options);
    const auto reader = trace(300, one_of(random, {1.0, 5.0, 50.0}), seed);
    ASSERT_TRUE(cluster.serving.begin(*reader));
    while (!cluster.serving.done()) {
      ASSERT_TRUE(cluster.kernel.step());
      if (random.below(3'000) == 0) {
        const std::size_t engine = random.below(options.engines);
        cluster.serving.lose_engine(engine);
        cluster.serving.restore_engine(engine);
      }
    }
    cluster.check();
    if (testing::Test::HasFailure()) return;
  }
}

// ---- the published trace ------------------------------------------------------------------------

// Eight machines of eight GPUs, with everything on.
struct Machines {
  explicit Machines(const Serving::Config& config) : serving(kernel, config, records) {
    for (std::uint32_t host = 0; host < topology.hosts(); ++host) {
      serving.add(CachedEngine::make(kernel, compute,
                                     {.page_tokens = config.page_tokens, .host_memory = 1_TiB},
                                     {.fabric = &fabric,
                                      .gpus = topology.parts_of(host, PartKind::gpu),
                                      .drams = topology.parts_of(host, PartKind::dram)},
                                     &pool, serving)
                      .value());
    }
  }

  void check() {
    const ServingTotals& totals = serving.totals();
    EXPECT_EQ(totals.completed() + totals.rejected(), totals.arrived);
    EXPECT_EQ(totals.hits() + sum(totals.misses), totals.blocks);
    kernel.run(10'000'000);
    EXPECT_EQ(pool.under_way(), 0);
  }

  Kernel kernel{1};
  MemoryPool pool{kernel, 1'000'000, {.lookup = Duration(100'000), .page = Duration(500'000)}};
  Topology topology = Topology::make(hardware_preset("8xh800-8x200").value()).value();
  Fabric fabric{kernel, topology, {}};
  Compute compute = Compute::make({.model = model_preset("llama-3.1-70b").value(),
                                   .gpu = gpu_preset("h800").value(),
                                   .gpus = 8})
                        .value();
  Records records;
  Serving serving;
};

TEST(Serving, E12TheConversationTraceIsServedWhole) {
  LARDER_NEEDS_PUBLISHED_TRACES();
  Machines machines({.page_tokens = 512});
  const std::vector paths{published_traces() / "conversation_trace.jsonl"};
  const auto reader = workloads::open_trace(paths).value();
  ASSERT_TRUE(machines.serving.run(*reader));
  machines.check();
  const ServingTotals& totals = machines.serving.totals();
  EXPECT_EQ(totals.arrived, 12'031);
  EXPECT_LE(totals.hits(), 105'710);  // of an infinite pool that sees each block at once
  EXPECT_GE(totals.hits(), 95'000);
  EXPECT_FALSE(machines.serving.pressure().overloaded());
}

TEST(Serving, AgenticSessionsAreServedInAClosedLoop) {
  LARDER_NEEDS_PUBLISHED_TRACES();
  Machines machines({.page_tokens = 64, .closed = true});
  const std::vector paths{published_traces() / "agentic"};
  const auto reader = workloads::open_trace(paths).value();
  ASSERT_TRUE(machines.serving.run(*reader));
  machines.check();
  const auto again = workloads::open_trace(paths).value();
  std::uint64_t requests = 0;
  while (*again->next() != nullptr) ++requests;
  EXPECT_EQ(machines.serving.totals().arrived, requests);
  EXPECT_GT(machines.serving.totals().hit_ratio().value(), 0.5);
}

}  // namespace
}  // namespace larder::sim
