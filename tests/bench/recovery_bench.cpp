// How soon a pool with a million values of 4 KiB is whole again after its master was killed, and
// how long those wait who ask the new one meanwhile: a master, two nodes and this client, each a
// process.
#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>

#include "tests/bench/full_pool.h"
#include "tests/bench/report.h"

namespace larder::bench {
namespace {

constexpr std::uint64_t values = 1'000'000;

struct Recovery {
  double seconds;         // from the death of the master until all values are known again
  double longest_answer;  // in seconds, of a question to the new master before that
};
Recovery recover(FullPool& full) {
  const auto began = SteadyClock::now();
  full.restart_master();
  std::atomic<bool> whole = false;
  std::vector<double> answers;
  std::thread asker([&] { answers = full.look_up_until(whole, 1); });
  larder::Pool pool = full.open();
  while (true) {
    const auto status = pool.status();
    if (status && !status->recovering && status->objects == values) break;
    if (seconds_since(began) > 60) throw std::runtime_error("it does not become whole");
  }
  const double seconds = seconds_since(began);
  whole = true;
  asker.join();
  return {seconds, answers.empty() ? 0 : *std::ranges::max_element(answers)};
}

FullPool& full_pool() {
  static FullPool pool(
      {.values = values, .value_bytes = 4096, .nodes = 2, .node_memory = "2400MiB"});
  return pool;
}

void whole_again_with_a_million_values(benchmark::State& state) {
  FullPool& pool = full_pool();
  for (auto _ : state) {
    report_value(state, "s", recover(pool).seconds, {.name = "the limit", .value = 5});
  }
}
BENCHMARK(whole_again_with_a_million_values)->Iterations(1)->Unit(benchmark::kMillisecond);

void longest_answer_meanwhile(benchmark::State& state) {
  FullPool& pool = full_pool();
  for (auto _ : state) {
    report_value(state, "ms", recover(pool).longest_answer * 1000,
                 {.name = "no stall over", .value = 50});
  }
}
BENCHMARK(longest_answer_meanwhile)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace larder::bench
