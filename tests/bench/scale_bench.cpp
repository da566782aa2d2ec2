// What one thread of a master does with ten million objects: how long others wait for it while a
// node's eighth of them is cleared away, while it evicts, and while it takes up what nodes report.
// Each time is that of one turn of its driver: what was due, and the request.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <vector>

#include "core/base/random.h"
#include "tests/bench/report.h"
#include "tests/scale/large_pool.h"

namespace larder::bench {
namespace {

using scale::Keys;
using scale::LargePool;

constexpr std::uint64_t objects = 10'000'000;

// Milliseconds of CPU, so that what else the machine does is no part of it.
class Times {
 public:
  template <class Work>
  void of(Work work) {
    const double began = now();
    work();
    times_.push_back(now() - began);
  }
  double p99() const {
    std::vector<double> sorted = times_;
    std::ranges::sort(sorted);
    return sorted.at(sorted.size() * 99 / 100);
  }
  double longest() const { return *std::ranges::max_element(times_); }

 private:
  static double now() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
  }
  std::vector<double> times_;
};

Keys some_keys(std::size_t count, Random& random) {
  Keys keys;
  for (std::size_t i = 0; i < count; ++i) keys.add(random.below(objects));
  return keys;
}

// Lookups of 64 keys while a lost node's objects are cleared away. To fill the pool takes half a
// minute, so all repetitions tell of one loss.
const Times& turns_after_a_loss() {
  static const Times times = [] {
    LargePool pool({.objects = objects});
    pool.join_all();
    Random random(1);
    Times turns;
    turns.of([&] { pool.lose(3); });
    while (pool.due()) {
      const Keys keys = some_keys(64, random);
      turns.of([&] {
        pool.turn();
        pool.look_up(keys);
        pool.heartbeat(1);
      });
    }
    return turns;
  }();
  return times;
}

constexpr Reference limit_of_lookups{.name = "the limit of B12", .value = 50};

void node_is_lost_lookup_p99(benchmark::State& state) {
  for (auto _ : state) report_value(state, "ms", turns_after_a_loss().p99(), limit_of_lookups);
}
BENCHMARK(node_is_lost_lookup_p99)->Iterations(1)->Unit(benchmark::kMillisecond);

// No heartbeat waits for longer than one turn.
void node_is_lost_longest_turn(benchmark::State& state) {
  for (auto _ : state) report_value(state, "ms", turns_after_a_loss().longest(), limit_of_lookups);
}
BENCHMARK(node_is_lost_longest_turn)->Iterations(1)->Unit(benchmark::kMillisecond);

// Calls for 30,000 keys while half of all objects is evicted.
const Times& calls_during_eviction() {
  static const Times times = [] {
    LargePool pool({.objects = objects, .filled = 0.9, .watermarks = {0.5, 0.4}});
    pool.join_all();
    pool.pass(std::chrono::seconds(11));  // what was taken up is held for one lease
    Random random(2);
    Times calls;
    for (int i = 0; i < 120; ++i) {
      const Keys keys = some_keys(30'000, random);
      pool.now += std::chrono::milliseconds(10);
      calls.of([&] { pool.exist(keys, [&] { pool.turn(); }); });
    }
    if (!pool.due()) throw std::runtime_error("eviction was over before the calls were");
    return calls;
  }();
  return times;
}

void exists_during_eviction_p99(benchmark::State& state) {
  for (auto _ : state) {
    report_value(state, "ms", calls_during_eviction().p99(),
                 {.name = "the limit of C5", .value = 20});
  }
}
BENCHMARK(exists_during_eviction_p99)->Iterations(1)->Unit(benchmark::kMillisecond);

// One part of a node's report, and the growth of what it is put into.
const Times& parts_of_reports() {
  static const Times times = [] {
    LargePool pool({.objects = objects});
    Times parts;
    for (std::uint64_t node = 0; node < LargePool::nodes; ++node) {
      pool.join(node);
      bool last = false;
      for (std::uint64_t part = 0; !last; ++part) {
        parts.of([&] { last = pool.report(node, part); });
      }
    }
    return parts;
  }();
  return times;
}

void report_is_taken_up_longest_part(benchmark::State& state) {
  for (auto _ : state) {
    report_value(state, "ms", parts_of_reports().longest(), {.name = "no stall over", .value = 50});
  }
}
BENCHMARK(report_is_taken_up_longest_part)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace larder::bench
