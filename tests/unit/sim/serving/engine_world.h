#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "sim/serving/cached_engine.h"
#include "tests/serving/memory_pool.h"

namespace larder::sim {

// A model of one layer whose tokens take 1 us, whose pairs of a query and a key take 25 ns, whose
// weights are read in 1.6 us, and whose KV of a token is 32 bytes, read in 32 ns
// (compute_test.cpp).
inline ServingShape tiny_shape(std::uint64_t gpu_blocks) {
  return {.model = {.name = "tiny",
                    .layers = 1,
                    .hidden = 8,
                    .heads = 2,
                    .kv_heads = 2,
                    .head_size = 4,
                    .feed_forward = 16,
                    .vocabulary = 10,
                    .context_tokens = 1'000},
          .gpu = {.name = "slow",
                  .fp16_flops = 1.28e9,
                  .fp8_flops = 0,
                  .memory = Bytes{1'600 + gpu_blocks * 320},
                  .memory_per_second = Bytes{1'000'000'000}},
          .costs = {.linear_efficiency = 1,
                    .attention_efficiency = 1,
                    .memory_efficiency = 1,
                    .memory_share = 1,
                    .each_pass = Duration(0)}};
}

// What a pass takes that computes so many tokens behind others.
inline Duration pass_time(std::int64_t tokens, std::int64_t before = 0) {
  return Duration(std::max<std::int64_t>(tokens * 1'000, 1'600) +
                  (tokens * before + tokens * (tokens + 1) / 2) * 25);
}

// One engine with pages of 10 tokens, its pool, and what it tells.
struct EngineWorld : Served {
  struct Options {
    std::uint64_t gpu_blocks = 100;
    std::uint64_t host_blocks = 1'000;
    MemoryPool::Times times;
    bool pool = true;
  };
  static CachedEngineConfig plain() {
    return {.page_tokens = 10,
            .prefetch = {.policy = PrefetchPolicy::wait_complete, .tokens_min = 1},
            .decoding = Decoding::elsewhere};
  }

  explicit EngineWorld(CachedEngineConfig config = plain()) : EngineWorld(config, Options()) {}
  EngineWorld(CachedEngineConfig config, const Options& options)
      : pool(kernel, 10'000, options.times),
        compute(Compute::make(tiny_shape(options.gpu_blocks)).value()) {
    config.host_memory = Bytes{320 * options.host_blocks};
    engine =
        CachedEngine::make(kernel, compute, config, {.gpus = {PartId{0}}, .drams = {PartId{1}}},
                           options.pool ? &pool : nullptr, *this)
            .value();
  }

  // Its input fills its blocks.
  ServedRequest& submit(std::vector<std::uint64_t> blocks, std::uint64_t output_tokens = 1) {
    auto& request = *requests.emplace_back(std::make_unique<ServedRequest>());
    request.blocks = std::move(blocks);
    request.record = {.number = requests.size() - 1,
                      .input_tokens = request.blocks.size() * 10,
                      .output_tokens = output_tokens,
                      .arrival = kernel.now(),
                      .blocks = static_cast<std::uint32_t>(request.blocks.size())};
    engine->submit(request);
    return request;
  }
  // Alone, to its end, and until what was to be written is.
  RequestRecord serve(std::vector<std::uint64_t> blocks, std::uint64_t output_tokens = 1) {
    const ServedRequest& request = submit(std::move(blocks), output_tokens);
    settle();
    return request.record;
  }
  void settle() {
    kernel.run(1'000'000);
    ASSERT_EQ(kernel.armed_events(), 0);
    engine->check_invariants();
  }

  void first_token(ServedRequest&) override { ++first_tokens; }
  void ended(ServedRequest& request) override {
    ended_in_order.push_back(request.record.number);
    const RequestRecord& record = request.record;
    if (record.prefill_begin == instant_never) return;
    const auto missed = std::accumulate(record.misses.begin(), record.misses.end(), 0U);
    EXPECT_EQ(record.hits() + missed, record.blocks);
  }

  Kernel kernel{1};
  MemoryPool pool;
  Compute compute;
  std::vector<std::unique_ptr<ServedRequest>> requests;
  std::vector<std::uint64_t> ended_in_order;
  std::uint64_t first_tokens = 0;
  std::unique_ptr<CachedEngine> engine;
};

inline void expect_near(Duration took, Duration expected) {
  EXPECT_LE(std::abs((took - expected).count()), 4) << took.count() << " " << expected.count();
}

inline std::uint32_t misses(const RequestRecord& record, MissReason reason) {
  return record.misses[static_cast<std::size_t>(reason)];
}

}  // namespace larder::sim
