#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "core/base/random.h"
#include "sim/fabric/max_min.h"
#include "tests/bench/fabric_cluster.h"
#include "tests/bench/report.h"

namespace larder::bench {
namespace {

using sim::MaxMin;

// With so many flows under way, one after another ends and a new one starts; `solve` is called
// after each change.
template <class Solve>
void churn(benchmark::State& state, Solve solve) {
  const Cluster cluster;
  MaxMin rates(cluster.topology.rates());
  std::vector<MaxMin::Change> changed;
  const auto flows = static_cast<std::uint32_t>(state.range(0));
  Random random(2);
  const auto start = [&](std::uint32_t flow) {
    rates.start(flow, cluster.paths[random.below(Cluster::paths_drawn)], MaxMin::no_limit, changed);
  };
  for (std::uint32_t flow = 0; flow < flows; ++flow) start(flow);
  double changes = 0;
  for (auto _ : state) {
    const auto flow = static_cast<std::uint32_t>(random.below(flows));
    changed.clear();
    rates.end(flow, changed);
    solve(rates);
    start(flow);
    solve(rates);
    changes += static_cast<double>(changed.size());
  }
  state.counters["changed"] = changes / static_cast<double>(state.iterations());
}

// Everything anew by the textbook, after each change.
void full_solution(benchmark::State& state) {
  churn(state, [](const MaxMin& rates) { benchmark::DoNotOptimize(rates.solve_all()); });
  report_rate(state, "flows/s", static_cast<double>(state.iterations()));
}
BENCHMARK(full_solution)->Arg(64)->Arg(512);

void what_changed(benchmark::State& state) {
  churn(state, [](const MaxMin&) {});
  report_rate(state, "flows/s", static_cast<double>(state.iterations()), {.name = "full_solution"});
}
BENCHMARK(what_changed)->Arg(64)->Arg(512);
// More than the textbook's could bear.
void what_changed_of_many(benchmark::State& state) {
  churn(state, [](const MaxMin&) {});
  report_rate(state, "flows/s", static_cast<double>(state.iterations()));
}
BENCHMARK(what_changed_of_many)->Arg(4'096);

}  // namespace
}  // namespace larder::bench
