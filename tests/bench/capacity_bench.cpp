// The pool of the capacity simulator under a generated trace of chats: each request reads all of
// its pages and puts those that are missing, at the trace's times, from one of eight engines to
// eight nodes. K and V objects for each page; the pool holds a quarter of the trace's pages.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/capacity/capacity_pool.h"
#include "tests/bench/report.h"
#include "workloads/generate.h"

namespace larder::bench {
namespace {

using sim::CapacityPool;
using sim::Instant;
using sim::PagePool;
using sim::PoolPage;

constexpr std::uint32_t hosts = 8;  // of engines, and as many of nodes
constexpr Bytes object{8 << 20};

struct Chats {
  std::vector<std::vector<PoolPage>> requests;
  std::vector<Duration> arrivals;
  double pages = 0;
  std::uint64_t distinct = 0;

  Chats() {
    workloads::GeneratorOptions options;
    options.requests = 4'000;
    const auto trace = workloads::generate_trace(options).value();
    while (const workloads::Request* const request = trace->next().value()) {
      auto& prompt = requests.emplace_back();
      for (const workloads::BlockId block : request->blocks) {
        prompt.push_back({.id = block.value,
                          .parent = prompt.empty() ? block.value : prompt.back().id,
                          .depth = static_cast<std::uint32_t>(prompt.size())});
        distinct = std::max(distinct, block.value + 1);
      }
      pages += static_cast<double>(prompt.size());
      arrivals.push_back(request->arrival);
    }
  }
};

// One request at a time.
class Asker final : PagePool::Read, PagePool::Put {
 public:
  explicit Asker(CapacityPool& pool) : pool_(pool) {}
  bool busy() const { return busy_; }
  void ask(PartId memory, std::span<const PoolPage> pages) {
    busy_ = true;
    memory_ = memory;
    missing_.assign(pages.begin(), pages.end());
    arrived_.assign(pages.size(), false);
    pool_.read(memory, missing_, *this);
  }

 private:
  void arrived(std::size_t index) override { arrived_[index] = true; }
  void ended(sim::MissReason) override {
    std::size_t index = 0;
    std::erase_if(missing_, [&](const PoolPage&) { return arrived_[index++]; });
    if (missing_.empty()) return ended();
    pool_.put(memory_, missing_, *this);
  }
  void ended() override { busy_ = false; }

  CapacityPool& pool_;
  bool busy_ = false;
  PartId memory_;
  std::vector<PoolPage> missing_;
  std::vector<bool> arrived_;
};

void replay(benchmark::State& state, bool with_fabric) {
  const Chats chats;
  Hardware hardware = hardware_preset("8xh800-8x200").value();
  hardware.hosts[0].count = 2 * hosts;
  const Topology topology = Topology::make(hardware).value();
  const auto memory = [&](std::uint32_t host) {
    return topology.parts_of(host, PartKind::dram)[0];
  };
  sim::PoolConfig config{.objects = {object, object}};
  for (std::uint32_t node = 0; node < hosts; ++node) {
    config.nodes.push_back({memory(hosts + node), object * (chats.distinct / 4 * 2 / hosts)});
  }
  double pages = 0;
  double hits = 0;
  for (auto _ : state) {
    sim::Kernel kernel(1);
    std::optional<sim::Fabric> fabric;
    // A move is one stripe: there are as many at a time as there are nodes.
    if (with_fabric) fabric.emplace(kernel, topology, StripeRules{.stripes_max = 1});
    const auto pool =
        CapacityPool::make(kernel, topology, fabric ? &*fabric : nullptr, config).value();
    std::vector<std::unique_ptr<Asker>> askers;
    const auto idle = [&]() -> Asker& {
      for (const auto& asker : askers) {
        if (!asker->busy()) return *asker;
      }
      return *askers.emplace_back(std::make_unique<Asker>(*pool));
    };
    for (std::size_t i = 0; i < chats.requests.size(); ++i) {
      kernel.run_until(Instant{} + chats.arrivals[i]);
      idle().ask(memory(static_cast<std::uint32_t>(i % hosts)), chats.requests[i]);
    }
    while (std::ranges::any_of(askers, [](const auto& asker) { return asker->busy(); })) {
      kernel.run(1'000);
    }
    pages += chats.pages;
    hits = static_cast<double>(pool->reads().came);
  }
  state.counters["hits"] = hits;
  report_rate(state, "pages/s", pages);
}
BENCHMARK_CAPTURE(replay, fabric_off, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replay, fabric_on, true)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace larder::bench
