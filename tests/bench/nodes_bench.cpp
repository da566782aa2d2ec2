// A simulated pool of a thousand nodes with twenty million objects: K and V of ten million pages,
// put through the master by a thousand engines' hosts, and looked up. Its memory is that of the
// process: the master's records, and what the simulation keeps beside them of pages and nodes.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <vector>

#include "core/base/random.h"
#include "sim/capacity/capacity_pool.h"
#include "tests/bench/report.h"

namespace larder::bench {
namespace {

using sim::CapacityPool;
using sim::MissReason;
using sim::PoolPage;

constexpr std::uint32_t nodes = 1'000;
constexpr std::uint64_t pages = 10'000'000;
constexpr std::uint64_t prompt_pages = 50;
constexpr Bytes object{1 << 20};

double resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  double all = 0;
  double resident = 0;
  statm >> all >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

std::vector<PoolPage> prompt(std::uint64_t number) {
  std::vector<PoolPage> prompt;
  const std::uint64_t first = number * prompt_pages;
  for (std::uint64_t page = 0; page < prompt_pages; ++page) {
    prompt.push_back({.id = first + page,
                      .parent = first + std::max<std::uint64_t>(page, 1) - 1,
                      .depth = static_cast<std::uint32_t>(page)});
  }
  return prompt;
}

class Pool final : CapacityPool::Put, CapacityPool::Lookup {
 public:
  Pool() {
    Hardware hardware = hardware_preset("cpu-1x25").value();
    hardware.hosts[0].count = nodes;
    topology_ = std::make_unique<Topology>(Topology::make(hardware).value());
    sim::PoolConfig config{.objects = {object, object}};
    // A tenth more than what is put, for what is placed unevenly.
    const Bytes each{(pages * 2 * (object.value + 128) / nodes / 10 * 11 + 63) / 64 * 64};
    for (std::uint32_t node = 0; node < nodes; ++node) config.nodes.push_back({memory(node), each});
    pool_ = CapacityPool::make(kernel_, *topology_, nullptr, config).value();
    for (std::uint64_t number = 0; number < pages / prompt_pages; ++number) {
      busy_ = true;
      pool_->put(memory(static_cast<std::uint32_t>(number % nodes)), prompt(number), *this);
      while (busy_) kernel_.run(1);
    }
    if (pool_->puts().stored != pages) throw std::runtime_error("not all pages were stored");
  }

  std::size_t look_up(std::uint64_t number) {
    busy_ = true;
    pool_->look_up(memory(static_cast<std::uint32_t>(number % nodes)), prompt(number), *this);
    while (busy_) kernel_.run(1);
    return leading_;
  }

 private:
  PartId memory(std::uint32_t host) const { return topology_->parts_of(host, PartKind::dram)[0]; }
  void ended() override { busy_ = false; }
  void found(std::size_t leading, MissReason) override {
    busy_ = false;
    leading_ = leading;
  }

  sim::Kernel kernel_{1};
  std::unique_ptr<Topology> topology_;
  std::unique_ptr<CapacityPool> pool_;
  bool busy_ = false;
  std::size_t leading_ = 0;
};

// It takes minutes to fill, so all repetitions are of one pool.
struct Filled {
  double before = resident_bytes();
  Pool pool;
  double bytes = resident_bytes() - before;
};
Filled& filled() {
  static auto& only = *new Filled;
  return only;
}

void bytes_of_an_object(benchmark::State& state) {
  const double bytes = filled().bytes;
  for (auto _ : state) benchmark::DoNotOptimize(bytes);
  state.counters["pool_bytes"] = bytes;
  report_value(state, "bytes", bytes / (2 * pages),
               {.name = "24 GiB for all of them", .value = 24.0 * (1u << 30) / (2 * pages)});
}
BENCHMARK(bytes_of_an_object)->Iterations(1);

void look_up(benchmark::State& state) {
  Pool& pool = filled().pool;
  Random random(1);
  double asked = 0;
  for (auto _ : state) {
    if (pool.look_up(random.below(pages / prompt_pages)) != prompt_pages) {
      state.SkipWithError("a page is missing");
    }
    asked += prompt_pages;
  }
  report_rate(state, "pages/s", asked);
}
BENCHMARK(look_up);

}  // namespace
}  // namespace larder::bench
