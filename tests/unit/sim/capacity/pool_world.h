#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sim/capacity/capacity_pool.h"

namespace larder::sim {

// Times that are easy to add up, in microseconds where nothing else is said.
inline PoolCosts round_costs() {
  using std::chrono::microseconds;
  return {.message = microseconds(10),
          .request = microseconds(1),
          .lookup = microseconds(2),
          .existence = microseconds(1),
          .put_start = microseconds(3),
          .put_end = microseconds(4),
          .confirmation = microseconds(1),
          .reported = microseconds(1),
          .eviction = microseconds(0),
          .node_request = microseconds(5),
          .node_extent = microseconds(2)};
}

// What one caller was told.
struct TestRead final : PagePool::Read {
  void arrived(std::size_t index) override { pages.insert(index); }
  void ended(MissReason why) override { reason = why; }
  bool over() const { return reason.has_value(); }
  std::set<std::size_t> pages;
  std::optional<MissReason> reason;
};
struct TestPut final : PagePool::Put {
  void ended() override { over = true; }
  bool over = false;
};
struct TestLookup final : PagePool::Lookup {
  void found(std::size_t leading, MissReason why) override { answer = {leading, why}; }
  std::optional<std::pair<std::size_t, MissReason>> answer;
};

// Small hosts, each with one NIC of 25 Gbit/s: engines on the first ones, a node on each other one.
struct PoolWorld {
  struct Shape {
    std::uint32_t engines = 2;
    std::uint32_t nodes = 1;
    bool with_fabric = false;
    Bytes capacity{1 << 20};
    std::vector<Bytes> objects{{1000}, {1000}};
    std::uint32_t replicas = 1;
    MasterConfig master;
    PoolCosts costs = round_costs();
    std::uint32_t batch_pages = 16;
    std::string_view preset = "cpu-1x25";
    Move::Transport transport = Move::Transport::verbs;
  };
  static constexpr Bytes object_room{1088};  // of 1000 bytes: up to the next 64, and a footer

  explicit PoolWorld(const Shape& shape)
      : topology(Topology::make(hardware(shape)).value()), engines(shape.engines) {
    if (shape.with_fabric) fabric.emplace(kernel, topology, StripeRules{});
    PoolConfig config{.objects = shape.objects,
                      .replicas = shape.replicas,
                      .master = shape.master,
                      .costs = shape.costs,
                      .transport = shape.transport,
                      .batch_pages = shape.batch_pages};
    for (std::uint32_t node = 0; node < shape.nodes; ++node) {
      config.nodes.push_back({memory(shape.engines + node), shape.capacity});
    }
    pool = CapacityPool::make(kernel, topology, fabric ? &*fabric : nullptr, config).value();
  }
  static Hardware hardware(const Shape& shape) {
    Hardware hardware = hardware_preset(shape.preset).value();
    hardware.hosts[0].count = shape.engines + shape.nodes;
    return hardware;
  }
  PartId memory(std::uint32_t host) const { return topology.parts_of(host, PartKind::dram)[0]; }
  PartId nic_of_node(std::uint32_t node) const { return topology.nic(engines + node, 0); }

  // Pages that each extend the one before.
  static std::vector<PoolPage> chain(std::uint64_t first, std::size_t count) {
    std::vector<PoolPage> pages;
    for (std::uint64_t i = 0; i < count; ++i) {
      pages.push_back({.id = first + i,
                       .parent = i == 0 ? first : first + i - 1,
                       .depth = static_cast<std::uint32_t>(i)});
    }
    return pages;
  }
  void run_for(Duration time) { kernel.run_until(kernel.now() + time); }
  template <class Over>
  void run_until(Over&& over) {
    for (std::uint64_t events = 0; !over(); ++events) {
      ASSERT_LT(events, 10'000'000u);
      kernel.run(1);
    }
  }
  // From `host`, to the end.
  TestRead read(const std::vector<PoolPage>& pages, std::uint32_t host = 0) {
    TestRead read;
    pool->read(memory(host), pages, read);
    run_until([&] { return read.over(); });
    return read;
  }
  void put(const std::vector<PoolPage>& pages, std::uint32_t host = 0) {
    TestPut put;
    pool->put(memory(host), pages, put);
    run_until([&] { return put.over; });
  }
  std::uint64_t missed(MissReason reason) const { return pool->reads().missed_for(reason); }
  Duration now() const { return kernel.now() - Instant{}; }

  Kernel kernel{1};
  Topology topology;
  std::uint32_t engines;
  std::optional<Fabric> fabric;
  std::unique_ptr<CapacityPool> pool;
};

}  // namespace larder::sim
