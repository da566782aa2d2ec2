#include <benchmark/benchmark.h>

#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/random.h"
#include "core/eviction/eviction_round.h"
#include "tests/bench/report.h"

namespace larder::bench {
namespace {

constexpr std::size_t units = 1'000'000;  // more than the processor's caches hold

// By their places.
class Records final : public UnitNames {
 public:
  Evictable& operator[](std::size_t i) { return records_[i]; }
  std::uint32_t name(const Evictable& unit) const override {
    return static_cast<std::uint32_t>(&unit - records_.get());
  }
  Evictable* find(std::uint32_t name) const override { return &records_[name]; }
  std::uint64_t identity(const Evictable& unit) const override { return name(unit); }

 private:
  std::unique_ptr<Evictable[]> records_{new Evictable[units]};
};

// Units to use, in random order, fixed before the clock runs.
std::vector<std::uint32_t> random_units() {
  Random random(1);
  std::vector<std::uint32_t> result(1 << 20);
  for (auto& unit : result) unit = static_cast<std::uint32_t>(random.below(units));
  return result;
}

struct ListNode
    : boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>> {
  char rest[sizeof(Evictable) - 2 * sizeof(void*)];
};

// What LRU cannot be faster than: moving an element of a list in records of the same size.
void list_move(benchmark::State& state) {
  std::vector<ListNode> nodes(units);
  boost::intrusive::list<ListNode> list;
  for (ListNode& node : nodes) list.push_back(node);
  const auto order = random_units();
  std::size_t i = 0;
  for (auto _ : state) {
    ListNode& node = nodes[order[i++ % order.size()]];
    list.erase(list.iterator_to(node));
    list.push_back(node);
  }
  list.clear();
  report_rate(state, "uses/s", static_cast<double>(state.iterations()));
}
BENCHMARK(list_move);

void access(benchmark::State& state, std::string_view policy) {
  Records records;
  EvictionOrder order = EvictionOrder::make(policy, records).value();
  for (std::size_t i = 0; i < units; ++i)
    order.insert(records[i], {.parent = i % 8 == 0 ? nullptr : &records[i - 1]});
  const auto used = random_units();
  std::size_t i = 0;
  for (auto _ : state) order.access(records[used[i++ % used.size()]]);
  report_rate(state, "uses/s", static_cast<double>(state.iterations()), {.name = "list_move"});
}
BENCHMARK_CAPTURE(access, lru, "lru");
BENCHMARK_CAPTURE(access, leaf_first, "leaf-first");
BENCHMARK_CAPTURE(access, sieve, "sieve");
BENCHMARK_CAPTURE(access, s3_fifo, "s3-fifo");
BENCHMARK_CAPTURE(access, cost_aware, "cost-aware");

// Every tenth unit is leased. A unit that is evicted comes back as a new one.
class PartlyLeasedCatalog final : public Evictor {
 public:
  explicit PartlyLeasedCatalog(std::string_view policy)
      : order(EvictionOrder::make(policy, records).value()) {
    for (std::size_t i = 0; i < units; ++i) {
      records[i].bytes = 1_MiB;
      order.insert(records[i], {.parent = i % 8 == 0 ? nullptr : &records[i - 1]});
    }
  }
  std::optional<SkipReason> held_by(const Evictable& unit) override {
    if (records.name(unit) % 10 == 0) return SkipReason::leased;
    return std::nullopt;
  }
  Taken evict(Evictable& unit) override {
    order.erase(unit);
    gone.push_back(&unit);
    return {};
  }

  Records records;
  EvictionOrder order;
  std::vector<Evictable*> gone;
};

void evict_and_insert(benchmark::State& state, std::string_view policy) {
  PartlyLeasedCatalog catalog(policy);
  std::uint64_t evicted = 0;
  for (auto _ : state) {
    EvictionRound round(catalog.order);
    round.step(catalog.order, {.goal = 400_MiB}, catalog);
    evicted += round.counts().units;
    for (Evictable* unit : catalog.gone) catalog.order.insert(*unit, {});
    catalog.gone.clear();
  }
  report_time_of_each(state, static_cast<double>(evicted));
}
BENCHMARK_CAPTURE(evict_and_insert, lru, "lru");
BENCHMARK_CAPTURE(evict_and_insert, leaf_first, "leaf-first");

}  // namespace
}  // namespace larder::bench
