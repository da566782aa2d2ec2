#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/unit/sim/capacity/pool_world.h"

namespace larder::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

// One host of so many cores, on which all is: master, node and clients.
struct OneHost {
  explicit OneHost(std::uint32_t cores, std::uint32_t client_threads = 1)
      : topology(Topology::make(host(cores)).value()), fabric(kernel, topology, StripeRules{}) {
    PoolCosts costs = round_costs();
    costs.client_request = microseconds(3);
    costs.client_item = costs.client_read_item = costs.client_put_item = microseconds(1);
    costs.hand_over = microseconds(20);
    PoolConfig config{.nodes = {{.memory = memory(), .capacity = Bytes{1 << 20}}},
                      .objects = {{1000}},
                      .costs = costs,
                      .threads = {.client = client_threads, .node = 1, .master_host = 0},
                      .transport = Move::Transport::tcp};
    pool = CapacityPool::make(kernel, topology, &fabric, config).value();
  }
  static Hardware host(std::uint32_t cores) {
    Hardware hardware = hardware_preset("cpu-1x25").value();
    hardware.hosts[0].count = 1;
    hardware.hosts[0].cores = cores;
    hardware.hosts[0].costs = {
        .posting = Duration(0), .completion = Duration(0), .tcp_per_second = {1'000'000'000}};
    return hardware;
  }
  PartId memory() const { return topology.parts_of(0, PartKind::dram)[0]; }
  template <class Over>
  void run_until(Over&& over) {
    for (int events = 0; !over(); ++events) {
      ASSERT_LT(events, 1'000'000);
      kernel.run(1);
    }
  }
  Duration put(const std::vector<PoolPage>& pages) {
    const Instant begin = kernel.now();
    TestPut put;
    pool->put(memory(), pages, put);
    run_until([&] { return put.over; });
    return kernel.now() - begin;
  }
  // So many at once; how long until the last has ended.
  Duration read(const std::vector<PoolPage>& pages, std::size_t readers) {
    const Instant begin = kernel.now();
    std::vector<TestRead> reads(readers);
    for (TestRead& read : reads) pool->read(memory(), pages, read);
    run_until([&] { return std::ranges::all_of(reads, &TestRead::over); });
    for (const TestRead& read : reads) EXPECT_EQ(read.pages.size(), pages.size());
    return kernel.now() - begin;
  }

  Kernel kernel{1};
  Topology topology;
  Fabric fabric;
  std::unique_ptr<CapacityPool> pool;
};

TEST(Cores, ACallAloneTakesItsStepsOneAfterTheOther) {
  OneHost world(2);
  const auto pages = PoolWorld::chain(1, 2);
  // The client's work for a call and two items, the hand over, the master there and back with two
  // items. The request of the fill, and the node's work for it and the first item; the bytes beside
  // the node's for the second; the client's for the last one, and the answer. Then the end.
  const Duration start = microseconds(3 + 2) + microseconds(20) + microseconds(10 + 1 + 6 + 10);
  const Duration fill = microseconds(10 + 5 + 2) + microseconds(2 + 2) + microseconds(1 + 10);
  const Duration end = microseconds(3 + 2) + microseconds(10 + 1 + 8 + 10);
  EXPECT_NEAR(static_cast<double>((world.put(pages) - start - fill - end).count()), 0, 20);

  const Duration read = microseconds(3 + 2) + microseconds(20) + microseconds(10 + 1 + 4 + 10) +
                        microseconds(10 + 5 + 2) + microseconds(2 + 2) + microseconds(1);
  EXPECT_NEAR(static_cast<double>((world.read(pages, 1) - read).count()), 0, 20);
}

// While the node works on one item, the client takes the one before.
TEST(Cores, OfManyItemsNodeAndClientWorkAtTheSameTime) {
  constexpr std::uint64_t items = 16;
  // Of an item: the node's work and its copy; the client's and its copy.
  constexpr std::uint64_t at_node = 2 + 1;
  constexpr std::uint64_t at_client = 1 + 1;
  const auto pages = PoolWorld::chain(1, items);
  const auto took = [&](std::uint32_t cores) {
    OneHost world(cores);
    world.put(pages);
    return static_cast<double>(world.read(pages, 1).count()) / 1000;
  };
  // Until the transfer begins.
  constexpr std::uint64_t before = (3 + items) + 20 + (10 + 1 + 2 * items + 10) + 10 + 5;
  EXPECT_NEAR(took(1), before + items * (at_node + at_client), 0.1);
  EXPECT_NEAR(took(2), before + items * at_node + 1, 0.1);
}

TEST(Cores, ManyCallsTakeAsLongAsTheCoresNeedForThem) {
  constexpr std::size_t readers = 64;
  // Processor time of a read of one page: client, master, node, and the bytes at both ends.
  constexpr double each = 3 + 1 + 1 + 1 + 2 + 5 + 2 + 2;
  const auto took = [&](std::uint32_t cores) {
    OneHost world(cores, readers);
    const auto pages = PoolWorld::chain(1, 1);
    world.put(pages);
    return static_cast<double>(world.read(pages, readers).count()) / 1000;
  };
  EXPECT_GT(took(1), readers * each);
  EXPECT_LT(took(1), readers * each + 100);
  EXPECT_GT(took(2), readers * each / 2);
  EXPECT_LT(took(2), took(1) * 0.75);
  // However many cores there are, there is one node, and one thread of it.
  EXPECT_GT(took(64), readers * (5.0 + 2 + 1));
}

TEST(Cores, WhatIsLostInTheMidstOfItLeavesNothingBehind) {
  OneHost world(1, 8);
  const auto pages = PoolWorld::chain(1, 4);
  world.put(pages);
  for (std::uint64_t at = 0; at < 120; at += 3) {
    std::vector<TestRead> reads(4);
    TestPut put;
    for (TestRead& read : reads) world.pool->read(world.memory(), pages, read);
    world.pool->put(world.memory(), PoolWorld::chain(100 + at, 2), put);
    world.kernel.run_until(world.kernel.now() + microseconds(at));
    world.pool->lose_master();
    world.kernel.run_until(world.kernel.now() + microseconds(50));
    world.pool->return_master();
    if (at % 2 == 0) {
      world.pool->lose_node(0, false);
      world.pool->return_node(0);
    }
    world.run_until([&] { return put.over && std::ranges::all_of(reads, &TestRead::over); });
    world.kernel.run_until(world.kernel.now() + seconds(60));
    world.put(pages);
  }
}

TEST(Cores, ReadsThatAreGivenUpAnywhereEnd) {
  OneHost world(1, 8);
  const auto pages = PoolWorld::chain(1, 4);
  world.put(pages);
  for (std::uint64_t at = 0; at < 120; at += 2) {
    TestRead read;
    TestPut put;
    TestLookup lookup;
    world.pool->read(world.memory(), pages, read);
    world.pool->put(world.memory(), PoolWorld::chain(100 + at, 2), put);
    world.pool->look_up(world.memory(), pages, lookup);
    world.kernel.run_until(world.kernel.now() + microseconds(at));
    if (!read.over()) world.pool->give_up(read);
    if (!put.over) world.pool->give_up(put);
    if (!lookup.answer) world.pool->give_up(lookup);
    world.kernel.run_until(world.kernel.now() + seconds(1));
    EXPECT_EQ(world.read(pages, 1) > Duration(0), true);
  }
}

TEST(Cores, AMasterBesideOthersNeedsAHostWithCores) {
  OneHost world(2);
  PoolConfig config = world.pool->config();
  config.threads.master_host = 1;
  EXPECT_FALSE(config.check(world.topology));
  config.threads = {.client = 0};
  EXPECT_FALSE(config.check(world.topology));
}

}  // namespace
}  // namespace larder::sim
