#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/serving/cached_engine.h"
#include "sim/serving/pool_only_engine.h"
#include "sim/serving/serving.h"
#include "tests/bench/report.h"
#include "tests/serving/memory_pool.h"
#include "workloads/generate.h"

namespace larder::bench {
namespace {

using namespace larder::literals;
using namespace larder::sim;

constexpr std::uint64_t requests = 12'000;
constexpr std::uint32_t engines = 8;

class Count final : public RecordSink {
 public:
  void take(const ServedRequest& request) override { blocks += request.record.blocks; }
  std::uint64_t blocks = 0;
};

// Eight engines of eight GPUs each before a pool that answers at once: what serving itself costs.
class World {
 public:
  World()
      : topology_(Topology::make(hardware_preset("8xh800-8x200").value()).value()),
        compute_(Compute::make({.model = model_preset("llama-3.1-70b").value(),
                                .gpu = gpu_preset("h800").value(),
                                .gpus = 8})
                     .value()) {}

  std::uint64_t run(bool fabric, bool caches) {
    Count count;
    Serving serving(kernel_, {.page_tokens = 512}, count);
    for (std::uint32_t host = 0; host < engines; ++host) {
      const std::vector<PartId> drams = topology_.parts_of(host, PartKind::dram);
      if (!caches) {
        serving.add(std::make_unique<PoolOnlyEngine>(kernel_, pool_, drams[0], serving));
        continue;
      }
      serving.add(CachedEngine::make(kernel_, compute_, {.host_memory = 1_TiB},
                                     {.fabric = fabric ? &fabric_ : nullptr,
                                      .gpus = topology_.parts_of(host, PartKind::gpu),
                                      .drams = drams},
                                     &pool_, serving)
                      .value());
    }
    const auto reader =
        workloads::generate_trace({.requests = requests, .requests_per_second = 3.4}).value();
    if (!serving.run(*reader)) return 0;
    return count.blocks;
  }

 private:
  Topology topology_;
  Compute compute_;
  Kernel kernel_{1};
  Fabric fabric_{kernel_, topology_, {}};
  MemoryPool pool_{kernel_, 1'000'000, {}};
};

void serve(benchmark::State& state, bool fabric, bool caches) {
  double served = 0;
  for (auto _ : state) {
    World world;
    benchmark::DoNotOptimize(world.run(fabric, caches));
    served += requests;
  }
  report_rate(state, "requests/s", served);
}

void ServeOverPcie(benchmark::State& state) { serve(state, true, true); }
BENCHMARK(ServeOverPcie)->Unit(benchmark::kMillisecond);
void ServeWithCopiesForNothing(benchmark::State& state) { serve(state, false, true); }
BENCHMARK(ServeWithCopiesForNothing)->Unit(benchmark::kMillisecond);
void ServeFromThePoolAlone(benchmark::State& state) { serve(state, false, false); }
BENCHMARK(ServeFromThePoolAlone)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace larder::bench
