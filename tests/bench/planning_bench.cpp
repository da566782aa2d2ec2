// A whole deployment under a trace: 8 engines of 8 GPUs, 8 nodes, K and V objects for each block of
// 512 tokens. The conversation trace where LARDER_TRACES says where it is, else as many requests of
// a generated one.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <vector>

#include "sim/planning/run.h"
#include "tests/bench/report.h"
#include "workloads/generate.h"
#include "workloads/trace.h"

namespace larder::bench {
namespace {

constexpr std::uint64_t generated_requests = 12'031;

std::unique_ptr<workloads::TraceReader> trace() {
  if (const char* const folder = std::getenv("LARDER_TRACES")) {
    const std::vector<std::filesystem::path> paths{std::filesystem::path(folder) /
                                                   "conversation_trace.jsonl"};
    return workloads::open_trace(paths).value();
  }
  return workloads::generate_trace({.requests = generated_requests, .requests_per_second = 3.4})
      .value();
}

class Count final : public sim::RunWatcher {
 public:
  void ended(const sim::ServedRequest&) override { ++requests; }
  std::uint64_t requests = 0;
};

void replay(benchmark::State& state, bool everything, bool curve) {
  sim::Setting setting{.serving = everything, .fabric = everything};
  setting.hardware = hardware_preset(setting.cluster).value();
  setting.model_numbers = sim::model_preset(setting.model).value();
  Count count;
  double hits = 0;
  for (auto _ : state) {
    const auto reader = trace();
    const auto run = sim::run(setting, *reader, count, {.pool_curve = curve}).value();
    hits = static_cast<double>(run.totals.hits());
  }
  state.counters["hits"] = hits;
  report_rate(state, "requests/s", static_cast<double>(count.requests));
}
BENCHMARK_CAPTURE(replay, everything_on, true, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replay, and_the_curve_of_the_pool, true, true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replay, fabric_and_serving_off, false, false)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace larder::bench
