#include "sim/capacity/capacity_pool.h"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "tests/unit/sim/capacity/pool_world.h"

namespace larder::sim {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using namespace literals;

namespace {

// Evicts only what somebody needs the space of, and only as much.
MasterConfig to_the_brim() {
  MasterConfig config;
  config.watermarks = {.high = 1, .low = 1};
  return config;
}
// The leases of a reader that says nothing more last longer than a put waits.
MasterConfig impatient() {
  MasterConfig config = to_the_brim();
  config.timing.wait_for_space = milliseconds(100);
  return config;
}

void expect_sums(const CapacityPool& pool) {
  EXPECT_EQ(pool.reads().asked, pool.reads().came + pool.reads().misses());
  EXPECT_EQ(pool.lookups().asked, pool.lookups().came + pool.lookups().misses());
  const PutCounts& puts = pool.puts();
  EXPECT_EQ(puts.asked, puts.stored + puts.there + puts.refused + puts.fragmented + puts.given_up);
}

// ---- what it takes ------------------------------------------------------------------------------

TEST(CapacityPool, EachCallTakesItsWayAndTheMastersTimeForIt) {
  PoolWorld world({});
  const auto page = PoolWorld::chain(1, 1);
  // 10 there, 1 and 2 for each of two objects, 10 back.
  EXPECT_EQ(world.read(page).reason, MissReason::cold);
  EXPECT_EQ(world.now(), microseconds(25));
  // 10 + 1 + 2 x 3 + 10, then 10 + 1 + 2 x 4 + 10.
  world.put(page);
  EXPECT_EQ(world.now(), microseconds(25 + 27 + 29));
  EXPECT_EQ(world.read(page).pages, std::set<std::size_t>{0});
  EXPECT_EQ(world.now(), microseconds(25 + 27 + 29 + 25));

  TestLookup lookup;
  world.pool->look_up(world.memory(0), PoolWorld::chain(1, 2), lookup);
  world.run_until([&] { return lookup.answer.has_value(); });
  // 10 + 1 + 4 x 1 + 10.
  EXPECT_EQ(world.now(), microseconds(106 + 25));
  EXPECT_EQ(*lookup.answer, std::pair(std::size_t{1}, MissReason::cold));
  expect_sums(*world.pool);
}

TEST(CapacityPool, CallsWaitForEachOtherAtTheMaster) {
  PoolWorld world({});
  const auto page = PoolWorld::chain(1, 1);
  TestRead first;
  TestRead second;
  world.pool->read(world.memory(0), page, first);
  world.pool->read(world.memory(1), page, second);
  world.run_until([&] { return first.over(); });
  EXPECT_EQ(world.now(), microseconds(25));
  EXPECT_FALSE(second.over());
  world.run_until([&] { return second.over(); });
  EXPECT_EQ(world.now(), microseconds(30));  // 5 more, of the first
  const PoolGauges gauges = world.pool->gauges();
  EXPECT_EQ(gauges.master_busy, microseconds(10));
  EXPECT_EQ(gauges.master_requests, 2u);
  EXPECT_EQ(gauges.master_items, 4u);
  EXPECT_EQ(gauges.master_queue_longest, 2u);
  EXPECT_DOUBLE_EQ(PoolGauges::master_utilization({}, gauges), 10.0 / 30);
}

constexpr double port_25 = 25e9 / 8 * 4096 / 4178;
Duration at_rate(Bytes length, double per_second) {
  return Duration(
      static_cast<std::int64_t>(std::ceil(static_cast<double>(length.value) / per_second * 1e9)));
}

TEST(CapacityPool, BytesGoOverTheFabric) {
  PoolWorld world({.engines = 1, .with_fabric = true, .capacity = 4_MiB, .objects = {1_MiB}});
  const auto page = PoolWorld::chain(1, 1);
  const TransferCosts& costs = world.topology.hardware_of(0).costs;
  const auto move = [&](std::uint32_t from, std::uint32_t to) {
    std::vector<EdgeId> path;
    world.topology.append_inside(world.memory(from), world.topology.nic(from, 0), path);
    world.topology.append_wire(world.topology.nic(from, 0), world.topology.nic(to, 0), 0, path);
    world.topology.append_inside(world.topology.nic(to, 0), world.memory(to), path);
    // 1 MiB is two stripes, the second of which is posted after the first; they share the port.
    return 2 * costs.posting + world.topology.latency(path) + at_rate(1_MiB, port_25) +
           costs.completion;
  };
  world.put(page);
  // PutStart (10 + 1 + 3 + 10), the node (10 + 5 + 2), the bytes, its answer (10), PutEnd (10 + 1 +
  // 4 + 10).
  const Duration put = microseconds(24 + 17 + 10 + 25) + move(0, 1);
  EXPECT_NEAR(static_cast<double>(world.now().count()), static_cast<double>(put.count()), 200);

  const Duration before = world.now();
  EXPECT_EQ(world.read(page).pages, std::set<std::size_t>{0});
  // GetReplicaList (10 + 1 + 2 + 10), and the bytes; the node is not asked.
  const Duration read = microseconds(23) + move(1, 0);
  EXPECT_NEAR(static_cast<double>((world.now() - before).count()),
              static_cast<double>(read.count()), 200);
  const PoolGauges gauges = world.pool->gauges();
  EXPECT_EQ(gauges.bytes_put, 1_MiB);
  EXPECT_EQ(gauges.bytes_read, 1_MiB);
  std::vector<EdgeId> wire;
  world.topology.append_wire(world.topology.nic(1, 0), world.topology.nic(0, 0), 0, wire);
  for (const EdgeId edge : wire) EXPECT_EQ(world.fabric->moved_over(edge), 1_MiB);
}

TEST(CapacityPool, AReadBringsItsFirstPagesFirst) {
  PoolWorld world({.engines = 1,
                   .nodes = 2,
                   .with_fabric = true,
                   .capacity = 64_MiB,
                   .objects = {1_MiB},
                   .batch_pages = 2});
  const auto pages = PoolWorld::chain(1, 8);
  world.put(pages);
  TestRead read;
  world.pool->read(world.memory(0), pages, read);
  world.run_until([&] { return read.pages.size() >= 4; });
  for (const std::size_t page : read.pages) EXPECT_LT(page, 6u);
  EXPECT_FALSE(read.over());
  world.run_until([&] { return read.over(); });
  EXPECT_EQ(read.pages.size(), 8u);
}

// ---- why a page is missing ----------------------------------------------------------------------

TEST(MissReason, ColdAndBehindAMiss) {
  PoolWorld world({});
  auto pages = PoolWorld::chain(1, 3);
  world.put({pages[1]});
  const TestRead read = world.read(pages);
  EXPECT_TRUE(read.pages.empty());
  EXPECT_EQ(read.reason, MissReason::cold);
  EXPECT_EQ(world.missed(MissReason::cold), 2u);
  EXPECT_EQ(world.missed(MissReason::behind_a_miss), 1u);
  expect_sums(*world.pool);
}

TEST(MissReason, NotVisibleWhileItsPutIsUnderWay) {
  PoolWorld world({});
  const auto page = PoolWorld::chain(1, 1);
  TestPut put;
  world.pool->put(world.memory(0), page, put);
  world.run_for(microseconds(5));
  // Reaches the master behind the PutStart, and before the PutEnd.
  EXPECT_EQ(world.read(page, 1).reason, MissReason::not_visible);
  EXPECT_FALSE(put.over);
  world.run_until([&] { return put.over; });
  EXPECT_EQ(world.read(page, 1).pages.size(), 1u);
  EXPECT_EQ(world.missed(MissReason::not_visible), 1u);
  expect_sums(*world.pool);
}

TEST(MissReason, EvictedWhenAnotherOneNeededItsRoom) {
  PoolWorld world({.capacity = PoolWorld::object_room * 4, .master = to_the_brim()});
  world.put(PoolWorld::chain(1, 1));
  world.put(PoolWorld::chain(2, 1));
  EXPECT_EQ(world.read(PoolWorld::chain(1, 1)).pages.size(), 1u);  // 2 is the oldest now
  world.put(PoolWorld::chain(3, 1));
  EXPECT_EQ(world.read(PoolWorld::chain(2, 1)).reason, MissReason::evicted);
  EXPECT_EQ(world.pool->why_missing({.id = 2}), MissReason::evicted);
  EXPECT_EQ(world.pool->why_missing({.id = 1'000}), MissReason::cold);
  EXPECT_EQ(world.read(PoolWorld::chain(1, 1)).pages.size(), 1u);
  EXPECT_EQ(world.read(PoolWorld::chain(3, 1)).pages.size(), 1u);
  const PoolGauges gauges = world.pool->gauges();
  EXPECT_EQ(gauges.evicted_objects, 2u);
  EXPECT_EQ(gauges.evicted_bytes, 2000_B);
  EXPECT_EQ(gauges.objects, 4u);
  EXPECT_EQ(gauges.used, PoolWorld::object_room * 4);
  expect_sums(*world.pool);
}

TEST(MissReason, RefusedWhileAllThatCouldGoIsLeased) {
  PoolWorld world({.capacity = PoolWorld::object_room * 2, .master = impatient()});
  world.put(PoolWorld::chain(1, 1));
  EXPECT_EQ(world.read(PoolWorld::chain(1, 1), 1).pages.size(), 1u);
  const Duration before = world.now();
  world.put(PoolWorld::chain(2, 1));
  EXPECT_GE(world.now() - before, milliseconds(100));
  EXPECT_EQ(world.pool->puts().refused, 1u);
  EXPECT_EQ(world.read(PoolWorld::chain(2, 1)).reason, MissReason::refused);
  EXPECT_EQ(world.read(PoolWorld::chain(1, 1)).pages.size(), 1u);
  // With its next word the reader gives its lease back.
  world.run_for(seconds(2));
  world.put(PoolWorld::chain(2, 1));
  EXPECT_EQ(world.read(PoolWorld::chain(2, 1)).pages.size(), 1u);
  EXPECT_EQ(world.missed(MissReason::refused), 1u);
  expect_sums(*world.pool);
}

// Objects of 256 KiB and a footer begin at 4 KiB: between two of them 4032 bytes are free. 66 of
// such gaps are as many bytes as one more would need.
TEST(MissReason, FragmentedWhereTheRoomIsInPieces) {
  PoolWorld world({.capacity = 260_KiB * 66, .objects = {256_KiB, 256_KiB}, .master = impatient()});
  const auto pages = PoolWorld::chain(1, 33);
  world.put(pages);
  EXPECT_EQ(world.read(pages, 1).pages.size(), 33u);  // and leased
  world.put(PoolWorld::chain(100, 1));
  EXPECT_EQ(world.read(PoolWorld::chain(100, 1)).reason, MissReason::fragmented);
  EXPECT_EQ(world.missed(MissReason::fragmented), 1u);
  EXPECT_EQ(world.pool->puts().fragmented, 1u);
  expect_sums(*world.pool);
}

TEST(MissReason, TimedOutWhenItsReaderGaveUp) {
  PoolWorld world({.engines = 1,
                   .with_fabric = true,
                   .capacity = 64_MiB,
                   .objects = {1_MiB},
                   .batch_pages = 1});
  auto pages = PoolWorld::chain(1, 8);
  world.put(pages);
  pages.push_back({.id = 99, .parent = 8, .depth = 8});
  TestRead read;
  world.pool->read(world.memory(0), pages, read);
  world.run_until([&] { return read.pages.size() == 3; });
  world.pool->give_up(read);
  world.run_for(seconds(1));
  EXPECT_EQ(read.pages.size(), 3u);
  EXPECT_FALSE(read.over());
  EXPECT_EQ(world.pool->reads().came, 3u);
  EXPECT_EQ(world.missed(MissReason::timed_out), 5u);
  EXPECT_EQ(world.missed(MissReason::cold), 1u);
  // The leases are back: the next reader finds a pool that works.
  pages.pop_back();
  EXPECT_EQ(world.read(pages).pages.size(), 8u);
  expect_sums(*world.pool);
}

TEST(CapacityPool, WhatIsGivenUpIsNotToldAndLeavesNothingBehind) {
  for (const Duration after : {microseconds(5), microseconds(15), microseconds(40)}) {
    PoolWorld world({});
    const auto pages = PoolWorld::chain(1, 2);
    TestPut put;
    TestRead read;
    TestLookup lookup;
    world.pool->put(world.memory(0), pages, put);
    world.pool->read(world.memory(1), pages, read);
    world.pool->look_up(world.memory(1), pages, lookup);
    world.run_for(after);
    world.pool->give_up(put);
    world.pool->give_up(read);
    world.pool->give_up(lookup);
    const bool told = read.over();
    world.run_for(seconds(1));
    EXPECT_FALSE(put.over);
    EXPECT_EQ(read.over(), told);
    world.put(pages);
    EXPECT_EQ(world.read(pages).pages.size(), 2u);
    EXPECT_EQ(world.pool->gauges().objects, 4u);
    expect_sums(*world.pool);
  }
}

TEST(MissReason, IsToldToWhoWatches) {
  class Watcher final : public CapacityPool::MissWatcher {
   public:
    std::vector<std::tuple<Duration, PageNumber, MissReason>> told;

   private:
    void missed(Instant at, PageNumber page, MissReason reason) override {
      told.emplace_back(at - Instant{}, page, reason);
    }
  } watcher;
  PoolWorld world({});
  world.pool->watch_misses(&watcher);
  const auto pages = PoolWorld::chain(1, 2);
  (void)world.read(pages);
  world.put({pages[1]});
  TestLookup lookup;
  world.pool->look_up(world.memory(0), pages, lookup);
  world.run_until([&] { return lookup.answer.has_value(); });
  ASSERT_EQ(watcher.told.size(), 4u);
  EXPECT_EQ(watcher.told[0], std::tuple(microseconds(29), 0u, MissReason::cold));
  EXPECT_EQ(watcher.told[1], std::tuple(microseconds(29), 1u, MissReason::cold));
  EXPECT_EQ(std::get<2>(watcher.told[2]), MissReason::cold);
  EXPECT_EQ(std::get<2>(watcher.told[3]), MissReason::behind_a_miss);
  EXPECT_EQ(world.pool->book().id(1), 2u);
}

// Through the node's thread, which serves one after the other: over tcp for a read too.
TEST(CapacityPool, OverTcpANodeIsAskedForWhatIsRead) {
  PoolWorld world({.engines = 1,
                   .with_fabric = true,
                   .capacity = 4_MiB,
                   .objects = {1_MiB},
                   .transport = Move::Transport::tcp});
  const auto page = PoolWorld::chain(1, 1);
  world.put(page);
  const Duration before = world.now();
  EXPECT_EQ(world.read(page).pages.size(), 1u);
  // GetReplicaList 23, to the node 10, its thread 5 + 2, and the bytes at 25 Gbit/s: 342.3 us.
  const Duration rest = world.now() - before - microseconds(40);
  EXPECT_GT(rest, microseconds(342));
  EXPECT_LT(rest, microseconds(350));
}

// ---- what goes wrong ----------------------------------------------------------------------------

TEST(CapacityPool, APageOfALostNodeIsLostUntilItIsPutAgain) {
  PoolWorld world({.nodes = 2});
  const auto page = PoolWorld::chain(1, 1);
  const auto other = PoolWorld::chain(2, 1);
  world.put(page);
  world.put(other);
  for (const std::uint32_t node : {0u, 1u}) world.pool->lose_node(node, node == 1);
  EXPECT_EQ(world.read(page).reason, MissReason::lost);  // while the master knows nothing of it
  world.run_for(seconds(10));
  EXPECT_EQ(world.pool->gauges().capacity, 0_B);
  EXPECT_EQ(world.read(page).reason, MissReason::lost);  // hidden
  world.run_for(seconds(40));
  EXPECT_EQ(world.read(page).reason, MissReason::lost);  // given up
  EXPECT_EQ(world.pool->gauges().objects, 0u);
  for (const std::uint32_t node : {0u, 1u}) world.pool->return_node(node);
  world.run_for(seconds(1));
  EXPECT_EQ(world.pool->gauges().reachable_nodes, 2u);
  EXPECT_EQ(world.pool->gauges().capacity, 2_MiB);
  EXPECT_EQ(world.read(page).reason, MissReason::lost);
  world.put(page);
  EXPECT_EQ(world.read(page).pages.size(), 1u);
  EXPECT_EQ(world.read(other).reason, MissReason::lost);
  EXPECT_EQ(world.missed(MissReason::lost), 5u);
  expect_sums(*world.pool);
}

TEST(CapacityPool, ASecondReplicaIsReadWhereTheFirstIsGone) {
  PoolWorld world({.engines = 1,
                   .nodes = 2,
                   .with_fabric = true,
                   .capacity = 64_MiB,
                   .objects = {1_MiB},
                   .replicas = 2});
  const auto pages = PoolWorld::chain(1, 8);
  world.put(pages);
  EXPECT_EQ(world.pool->gauges().bytes_put, 16_MiB);
  TestRead read;
  world.pool->read(world.memory(0), pages, read);
  world.run_until([&] { return !read.pages.empty(); });
  world.pool->lose_node(0, false);
  world.run_until([&] { return read.over(); });
  EXPECT_EQ(read.pages.size(), 8u);
  // One that goes silently costs the time in which nothing moves.
  world.run_for(seconds(60));
  world.pool->return_node(0);
  world.run_for(seconds(1));
  const auto more = PoolWorld::chain(100, 8);
  world.put(more);
  world.pool->lose_node(0, true);
  const Duration before = world.now();
  EXPECT_EQ(world.read(more).pages.size(), 8u);
  EXPECT_GE(world.now() - before, seconds(2));
  EXPECT_LT(world.now() - before, seconds(3));
  expect_sums(*world.pool);
}

TEST(CapacityPool, AHostWithoutANicIsCutOffAndComesBackWithWhatItHeld) {
  PoolWorld world({.engines = 1, .with_fabric = true, .capacity = 64_MiB, .objects = {1_MiB}});
  const auto pages = PoolWorld::chain(1, 4);
  world.put(pages);
  world.pool->lose_nic(world.nic_of_node(0));
  const TestRead cut = world.read(pages);
  EXPECT_EQ(cut.reason, MissReason::lost);
  EXPECT_EQ(world.missed(MissReason::lost), 4u);
  world.run_for(seconds(10));  // hidden, and not given up yet
  EXPECT_EQ(world.pool->gauges().capacity, 0_B);
  world.pool->return_nic(world.nic_of_node(0));
  world.run_for(seconds(1));
  EXPECT_EQ(world.pool->gauges().objects, 4u);
  EXPECT_EQ(world.read(pages).pages.size(), 4u);
  expect_sums(*world.pool);
}

TEST(CapacityPool, CallsWaitForAMasterThatComesBackAndNothingIsLost) {
  PoolWorld world({.nodes = 2});
  const auto pages = PoolWorld::chain(1, 8);
  world.put(pages);
  world.pool->lose_master();
  TestRead read;
  world.pool->read(world.memory(0), pages, read);
  TestPut put;
  world.pool->put(world.memory(1), PoolWorld::chain(50, 2), put);
  world.run_for(seconds(2));
  EXPECT_FALSE(read.over());
  EXPECT_FALSE(world.pool->gauges().master_alive);
  world.pool->return_master();
  world.run_until([&] { return read.over() && put.over; });
  world.run_for(seconds(1));
  EXPECT_EQ(world.pool->gauges().objects, 20u);
  EXPECT_EQ(world.read(pages).pages.size(), 8u);
  EXPECT_EQ(world.read(PoolWorld::chain(50, 2)).pages.size(), 2u);
  expect_sums(*world.pool);
}

TEST(CapacityPool, CallsFailWhenTheMasterStaysAway) {
  PoolWorld world({});
  const auto pages = PoolWorld::chain(1, 2);
  world.put({pages[0]});
  world.pool->lose_master();
  const Duration before = world.now();
  EXPECT_EQ(world.read(pages).reason, MissReason::timed_out);
  EXPECT_EQ(world.now() - before, seconds(5));
  EXPECT_EQ(world.missed(MissReason::timed_out), 1u);
  EXPECT_EQ(world.missed(MissReason::cold), 1u);
  world.put({pages[1]});
  EXPECT_EQ(world.pool->puts().given_up, 1u);
  world.pool->return_master();
  world.run_for(seconds(1));
  EXPECT_EQ(world.read(pages).pages, std::set<std::size_t>{0});
  EXPECT_EQ(world.missed(MissReason::cold), 2u);
  expect_sums(*world.pool);
}

TEST(CapacityPool, APutGoesOnWithTheNextMaster) {
  PoolWorld world({.engines = 1, .with_fabric = true, .capacity = 64_MiB, .objects = {1_MiB}});
  const auto pages = PoolWorld::chain(1, 8);
  TestPut put;
  world.pool->put(world.memory(0), pages, put);
  world.run_for(microseconds(500));  // the bytes are on their way
  world.pool->lose_master();
  world.run_for(seconds(1));
  EXPECT_FALSE(put.over);
  world.pool->return_master();
  world.run_until([&] { return put.over; });
  EXPECT_EQ(world.pool->puts().stored, 8u);
  EXPECT_EQ(world.read(pages).pages.size(), 8u);
  expect_sums(*world.pool);
}

// ---- the whole ----------------------------------------------------------------------------------

TEST(CapacityPool, TheSameCallsGiveTheSameWorld) {
  const auto run = [] {
    PoolWorld world(
        {.nodes = 3, .with_fabric = true, .capacity = PoolWorld::object_room * 40, .replicas = 2});
    for (std::uint64_t i = 0; i < 200; ++i) {
      const auto pages = PoolWorld::chain(1 + i * 7 % 90, 4);
      (void)world.read(pages, i % 2);
      world.put(pages, i % 2);
      if (i == 100) {
        world.pool->lose_node(1, true);
        world.pool->lose_node(2, true);
      }
    }
    expect_sums(*world.pool);
    EXPECT_GT(world.pool->reads().came, 0u);
    EXPECT_GT(world.missed(MissReason::evicted), 0u);
    EXPECT_GT(world.missed(MissReason::lost), 0u);
    world.kernel.note(world.pool->reads().came);
    return world.kernel.hash();
  };
  EXPECT_EQ(run(), run());
}

TEST(CapacityPool, WhatCannotBeIsRefused) {
  PoolWorld world({});
  PoolConfig good{.nodes = {{world.memory(0), 1_MiB}}, .objects = {1000_B}};
  const auto refused = [&](auto change) {
    PoolConfig config = good;
    change(config);
    const auto made = CapacityPool::make(world.kernel, world.topology, nullptr, config);
    return !made && made.error().code() == ErrorCode::invalid_params;
  };
  EXPECT_FALSE(refused([](PoolConfig&) {}));
  EXPECT_TRUE(refused([](PoolConfig& config) { config.nodes.clear(); }));
  EXPECT_TRUE(refused([](PoolConfig& config) { config.nodes[0].capacity = 1024_B; }));
  EXPECT_TRUE(refused([&](PoolConfig& config) { config.nodes[0].memory = world.nic_of_node(0); }));
  EXPECT_TRUE(refused([](PoolConfig& config) { config.nodes[0].memory = {100'000}; }));
  EXPECT_TRUE(refused([](PoolConfig& config) { config.objects.clear(); }));
  EXPECT_TRUE(refused([](PoolConfig& config) { config.objects[0] = 0_B; }));
  EXPECT_TRUE(refused([](PoolConfig& config) { config.master.object_bytes_max = 999_B; }));
  EXPECT_TRUE(refused([](PoolConfig& config) { config.replicas = 0; }));
  EXPECT_TRUE(refused([](PoolConfig& config) { config.replicas = replicas_max + 1; }));
  EXPECT_TRUE(refused([](PoolConfig& config) { config.batch_pages = 0; }));
  EXPECT_TRUE(refused([](PoolConfig& config) { config.master.policy = "none"; }));
}

}  // namespace
}  // namespace larder::sim
