#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "core/base/random.h"
#include "sim/cache/hit_rates.h"
#include "tests/bench/report.h"

namespace larder::bench {
namespace {

using workloads::BlockId;

constexpr std::uint64_t cache_blocks = 10'000;

struct Chats {
  std::vector<std::vector<BlockId>> requests;
  double accesses = 0;
};

// Chats that share a first block and grow by a few blocks with each turn.
Chats hashed_chats() {
  Random random(1);
  Chats result;
  std::vector<std::uint64_t> lengths(3000, 4);
  for (int i = 0; i < 12'000; ++i) {
    const std::uint64_t chat = random.below(1 + random.below(lengths.size()));
    lengths[chat] = std::min<std::uint64_t>(lengths[chat] + 1 + random.below(6), 100);
    auto& request = result.requests.emplace_back(lengths[chat]);
    for (std::uint64_t at = 1; at < request.size(); ++at)
      request[at].value = (chat + 1) * 0x9e3779b97f4a7c15 + at;
    result.accesses += static_cast<double>(request.size());
  }
  return result;
}

// The same with ids as the readers of traces give them: by first use.
Chats chats() {
  Chats result = hashed_chats();
  std::unordered_map<std::uint64_t, std::uint64_t> numbers;
  for (auto& request : result.requests) {
    for (BlockId& block : request) {
      block.value = numbers.try_emplace(block.value, numbers.size()).first->second;
    }
  }
  return result;
}

// The LRU cache of a textbook.
class PlainLru {
 public:
  std::uint64_t hits = 0;

  void use(BlockId block) {
    if (const auto at = held_.find(block.value); at != held_.end()) {
      ++hits;
      order_.splice(order_.end(), order_, at->second);
      return;
    }
    held_[block.value] = order_.insert(order_.end(), block.value);
    if (order_.size() <= cache_blocks) return;
    held_.erase(order_.front());
    order_.pop_front();
  }

 private:
  std::list<std::uint64_t> order_;
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> held_;
};

void plain_lru(benchmark::State& state) {
  const Chats trace = chats();
  for (auto _ : state) {
    PlainLru cache;
    for (const auto& request : trace.requests)
      for (const BlockId block : request) cache.use(block);
    benchmark::DoNotOptimize(cache.hits);
  }
  report_rate(state, "accesses/s", static_cast<double>(state.iterations()) * trace.accesses);
}
BENCHMARK(plain_lru);

// From ids to hits, in one size.
void cache_run(benchmark::State& state, std::string_view policy) {
  const Chats trace = chats();
  for (auto _ : state) {
    sim::BlockNumbers numbers;
    sim::CacheRun cache = sim::CacheRun::make(policy, cache_blocks).value();
    for (const auto& request : trace.requests) cache.request(numbers.of(request));
    benchmark::DoNotOptimize(cache.point().hits);
  }
  report_rate(state, "accesses/s", static_cast<double>(state.iterations()) * trace.accesses,
              {.name = "plain_lru"});
}
BENCHMARK_CAPTURE(cache_run, lru, "lru");
BENCHMARK_CAPTURE(cache_run, fifo, "fifo");
BENCHMARK_CAPTURE(cache_run, leaf_first, "leaf-first");

// From ids to the hits in every size.
void lru_curve(benchmark::State& state, const Chats& trace) {
  for (auto _ : state) {
    sim::BlockNumbers numbers;
    sim::LruCurve curve;
    for (const auto& request : trace.requests) curve.request(numbers.of(request));
    benchmark::DoNotOptimize(curve.at(cache_blocks).hits);
  }
  report_rate(state, "accesses/s", static_cast<double>(state.iterations()) * trace.accesses,
              {.name = "plain_lru"});
}
BENCHMARK_CAPTURE(lru_curve, numbered, chats());
BENCHMARK_CAPTURE(lru_curve, hashed_ids, hashed_chats());

}  // namespace
}  // namespace larder::bench
