// Statement B12 with processes: a pool of ten million values loses a node that holds an eighth of
// them. How long do lookups of 64 keys take meanwhile, and does any other node's heartbeat wait?
#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/bench/full_pool.h"
#include "tests/bench/report.h"

namespace larder::bench {
namespace {

constexpr std::size_t nodes = 8;

FullPool& full_pool() {
  static FullPool pool({.values = 10'000'000,
                        .value_bytes = 32,
                        .nodes = nodes,
                        .node_memory = "200MiB",
                        .master_options = {"--node-lost", "6s"}});
  return pool;
}

struct Loss {
  double lookup_p99 = 0;  // in seconds
  double oldest_heartbeat = 0;
};
// From the death of the node until all that was on it alone is gone.
Loss lose(FullPool& full, std::size_t node) {
  larder::Pool pool = full.open();
  const auto before = pool.status();
  if (!before) throw std::runtime_error(before.error().message());
  std::atomic<bool> cleared = false;
  std::vector<double> lookups;
  std::thread asker([&] { lookups = full.look_up_until(cleared, 64); });
  Loss loss;
  const auto began = SteadyClock::now();
  full.kill_node(node);
  while (true) {
    const auto status = pool.status();
    if (!status) throw std::runtime_error(status.error().message());
    for (const auto& each : status->nodes) {
      if (each.name == "n" + std::to_string(node)) continue;
      loss.oldest_heartbeat = std::max(loss.oldest_heartbeat,
                                       std::chrono::duration<double>(each.since_heartbeat).count());
    }
    if (status->objects <= before->objects - before->objects / (nodes + 1)) break;
    if (seconds_since(began) > 120) throw std::runtime_error("its values are still there");
  }
  cleared = true;
  asker.join();
  std::ranges::sort(lookups);
  loss.lookup_p99 = lookups.at(lookups.size() * 99 / 100);
  return loss;
}

Loss next_loss() {
  static std::size_t node = 0;
  return lose(full_pool(), node++);
}

void lookup_p99_while_a_node_is_lost(benchmark::State& state) {
  for (auto _ : state) {
    report_value(state, "ms", next_loss().lookup_p99 * 1000,
                 {.name = "the limit of B12", .value = 50});
  }
}
BENCHMARK(lookup_p99_while_a_node_is_lost)->Iterations(1)->Unit(benchmark::kMillisecond);

void longest_silence_of_the_others(benchmark::State& state) {
  for (auto _ : state) {
    report_value(state, "s", next_loss().oldest_heartbeat,
                 {.name = "twice the interval", .value = 2});
  }
}
BENCHMARK(longest_silence_of_the_others)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace larder::bench
