#include "sim/capacity/pool_faults.h"

#include <gtest/gtest.h>

#include "sim/capacity/gauge_series.h"
#include "sim/capacity/page_names.h"
#include "tests/unit/sim/capacity/pool_world.h"

namespace larder::sim {
namespace {

using std::chrono::seconds;
using Kind = PoolFault::Kind;

TEST(PoolFaults, BeginAndEndAtTheirInstantsAndMayOverlap) {
  PoolWorld world({.nodes = 2, .with_fabric = true});
  const std::vector<PoolFault> plan{
      {.kind = Kind::node, .node = 0, .at = Instant{} + seconds(10), .lasts = seconds(20)},
      {.kind = Kind::host, .node = 0, .at = Instant{} + seconds(20), .lasts = seconds(20)},
      {.kind = Kind::nic,
       .nic = world.nic_of_node(1),
       .at = Instant{} + seconds(20),
       .lasts = seconds(5)},
      {.kind = Kind::master, .at = Instant{} + seconds(50), .lasts = seconds(1)},
  };
  ASSERT_TRUE(PoolFaults::check(plan, world.topology, *world.pool));
  const PoolFaults faults(world.kernel, *world.pool, plan);
  const auto reachable_at = [&](int second) {
    world.kernel.run_until(Instant{} + seconds(second));
    return world.pool->gauges().reachable_nodes;
  };
  EXPECT_EQ(reachable_at(9), 2u);
  EXPECT_EQ(reachable_at(15), 1u);
  EXPECT_EQ(reachable_at(22), 0u);
  EXPECT_EQ(reachable_at(26), 1u);
  EXPECT_EQ(reachable_at(35), 1u);  // the second one still holds node 0
  EXPECT_EQ(reachable_at(41), 2u);
  EXPECT_EQ(reachable_at(50), 2u);
  EXPECT_FALSE(world.pool->gauges().master_alive);
  EXPECT_EQ(reachable_at(52), 2u);
  EXPECT_TRUE(world.pool->gauges().master_alive);
  EXPECT_EQ(world.pool->gauges().capacity, Bytes{2 << 20});
}

TEST(PoolFaults, WhatCannotFailIsRefused) {
  PoolWorld without({});
  PoolWorld with({.with_fabric = true});
  const auto refused = [](const PoolWorld& world, const PoolFault& fault) {
    const Status checked = PoolFaults::check({&fault, 1}, world.topology, *world.pool);
    return !checked && checked.error().code() == ErrorCode::invalid_params;
  };
  EXPECT_FALSE(refused(without, {.kind = Kind::master}));
  EXPECT_TRUE(refused(without, {.kind = Kind::master, .lasts = Duration(0)}));
  EXPECT_TRUE(refused(without, {.kind = Kind::node, .node = 1}));
  EXPECT_TRUE(refused(without, {.kind = Kind::nic, .nic = without.nic_of_node(0)}));
  EXPECT_FALSE(refused(with, {.kind = Kind::nic, .nic = with.nic_of_node(0)}));
  EXPECT_TRUE(refused(with, {.kind = Kind::nic, .nic = with.memory(0)}));
}

// Its name is taken until the master has given up the process that went silently.
TEST(PoolFaults, ANodeThatTheMasterRefusesAsksAgainOnceAHeartbeatAndIsTakenInTheEnd) {
  PoolWorld world({.nodes = 1});
  const std::vector<PoolFault> plan{
      {.kind = Kind::host, .node = 0, .at = Instant{} + seconds(10), .lasts = seconds(1)}};
  const PoolFaults faults(world.kernel, *world.pool, plan);
  world.kernel.run_until(Instant{} + seconds(11));
  const std::uint64_t before = world.pool->gauges().master_requests;
  world.kernel.run_until(Instant{} + seconds(14));
  EXPECT_GE(world.pool->gauges().master_requests, before + 2);
  EXPECT_LE(world.pool->gauges().master_requests, before + 4);
  world.kernel.run_until(Instant{} + seconds(20));
  world.put(PoolWorld::chain(1, 3));
  EXPECT_EQ(world.pool->gauges().objects, 6u);
}

TEST(CapacityPool, OfANodeThatTheMasterRefusesIsAnErrorThatSaysWhy) {
  PoolWorld world({});
  const PoolConfig config{
      .nodes = {{world.memory(0), Bytes{1 << 20}}, {world.memory(1), Bytes{1ull << 49}}},
      .objects = {{1000}}};
  Kernel kernel{1};
  const auto pool = CapacityPool::make(kernel, world.topology, nullptr, config);
  ASSERT_FALSE(pool);
  EXPECT_EQ(pool.error().code(), ErrorCode::invalid_params);
  EXPECT_EQ(pool.error().facts().detail,
            "the master refuses node 1: the segments of node 'node1' have more than 256TiB");
}

TEST(GaugeSeries, IsBoundedAndStillTellsOfTheWholeTime) {
  PoolWorld world({});
  const GaugeSeries series(world.kernel, *world.pool, seconds(1), 4);
  world.put(PoolWorld::chain(1, 3));
  world.kernel.run_until(Instant{} + seconds(3));
  ASSERT_EQ(series.samples().size(), 4u);  // 0, 1, 2, 3
  EXPECT_EQ(series.samples()[0].objects, 0u);
  EXPECT_EQ(series.samples()[1].objects, 6u);
  EXPECT_EQ(series.samples()[3].at, Instant{} + seconds(3));
  world.kernel.run_until(Instant{} + seconds(100));
  EXPECT_LE(series.samples().size(), 4u);
  for (std::size_t i = 1; i < series.samples().size(); ++i) {
    EXPECT_EQ(series.samples()[i].at - series.samples()[i - 1].at, series.interval());
  }
  EXPECT_EQ(series.samples()[0].at, Instant{});
  EXPECT_EQ(series.samples().back().puts.stored, 3u);
  EXPECT_GT(series.samples().back().master_requests, series.samples()[1].master_requests);
}

TEST(PageBook, NumbersPagesByFirstNameAndKeepsTheirParents) {
  PageBook book;
  EXPECT_EQ(book.number({.id = 7, .parent = 5}), 0u);  // its parent is named by it alone: 1
  EXPECT_EQ(book.number({.id = 5, .parent = 3}), 1u);
  EXPECT_EQ(book.number({.id = 7, .parent = 5}), 0u);
  EXPECT_EQ(book.number({.id = ~std::uint64_t{0}, .parent = ~std::uint64_t{0}}), 3u);
  EXPECT_EQ(book.pages(), 4u);
  EXPECT_EQ(book.parent(0), 1u);
  EXPECT_EQ(book.parent(1), 2u);
  EXPECT_EQ(book.id(2), 3u);
  EXPECT_EQ(book.parent(2), 2u);
  EXPECT_EQ(book.find(5), 1u);
  EXPECT_EQ(book.find(6), std::nullopt);

  book.took_away(0, PageBook::Fate::evicted);  // it was not there
  EXPECT_EQ(book.fate(0), PageBook::Fate::none);
  book.set_fate(0, PageBook::Fate::stored);
  book.set_under_way(0, true);
  book.took_away(0, PageBook::Fate::evicted);
  EXPECT_EQ(book.fate(0), PageBook::Fate::stored);
  book.set_under_way(0, false);
  book.took_away(0, PageBook::Fate::evicted);
  book.took_away(0, PageBook::Fate::lost);
  EXPECT_EQ(book.fate(0), PageBook::Fate::evicted);
}

TEST(PageNames, AreReadBack) {
  std::string text;
  append_object_key(text, 0x8000'0000'0000'0a00u, 200);
  ASSERT_EQ(text.size(), object_key_bytes);
  EXPECT_EQ(page_of(text), 0x8000'0000'0000'0a00u);
  EXPECT_EQ(object_of(text), 200);
  EXPECT_EQ(group_name(text, 2), text.substr(0, 8));
  EXPECT_EQ(group_name(text, 1), "");
  EXPECT_EQ(parent_name(text, 2), group_name(text, 2));
  EXPECT_EQ(parent_name(text, 1), text);
}

}  // namespace
}  // namespace larder::sim
