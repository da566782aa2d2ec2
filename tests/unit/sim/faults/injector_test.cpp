#include "sim/faults/injector.h"

#include "tests/pool/pool.h"

namespace larder::sim {
namespace {

constexpr ProcessName node0{Role::node, 0};
constexpr ProcessName client0{Role::client, 0};
constexpr ProcessName master0{Role::master, 0};

struct InjectorTest : testing::Test {
  Pool pool{{}};
  Injector injector{pool.world};
  void pass(Duration time) { pool.world.run_for(time); }
  Route from_node{.from = pool.nodes[0]->host().id, .to = pool.clients[0]->host().id};
  Route to_node{.from = from_node.to, .to = from_node.from};
  bool blocked(Route route) { return pool.world.network().blocked(route); }
};

TEST(Faults, EachHasItsNameAndItsSentence) {
  std::set<std::string_view> names;
  for (const FaultInfo& each : all_faults()) {
    EXPECT_TRUE(names.insert(each.name).second);
    EXPECT_FALSE(each.what.empty());
    EXPECT_EQ(info(each.kind).name, each.name);
  }
  EXPECT_EQ(names.size(), fault_kinds);
}

TEST(Faults, ProcessesAreNamedByTheirRoleAndNumber) {
  EXPECT_EQ(process_named("node12"), (ProcessName{Role::node, 12}));
  for (const char* bad : {"node", "nod1", "node1x", "node-1", "1", ""}) {
    EXPECT_FALSE(process_named(bad)) << bad;
  }
  EXPECT_EQ(to_string(client0), "client0");
}

TEST_F(InjectorTest, AProcessIsDownUntilNoFaultHoldsItAnyMore) {
  injector.begin({.kind = FaultKind::crash, .target = node0, .lasts = 2s});
  injector.begin({.kind = FaultKind::power_off, .target = node0, .lasts = 5s});
  pass(3s);
  EXPECT_FALSE(pool.nodes[0]->alive()) << "its host has no power yet";
  EXPECT_TRUE(blocked(from_node));
  pass(3s);
  EXPECT_TRUE(pool.nodes[0]->alive());
  EXPECT_FALSE(blocked(from_node));
}

TEST_F(InjectorTest, ACrashAfterSomeEventsComesBetweenTwoOfThem) {
  injector.begin({.kind = FaultKind::crash, .target = client0, .amount = 3, .lasts = 60s});
  pool.clients[0]->put({{.key = "k", .size = 4_KiB}});  // needs more than three
  EXPECT_TRUE(pool.clients[0]->alive());
  pass(1s);
  EXPECT_FALSE(pool.clients[0]->alive());
  EXPECT_EQ(pool.witness.lost.size(), 1u);
  pass(60s);
  EXPECT_TRUE(pool.clients[0]->alive());
}

TEST_F(InjectorTest, AStopAndASuspensionMayOverlap) {
  injector.begin({.kind = FaultKind::stop, .target = node0, .lasts = 5s});
  injector.begin({.kind = FaultKind::suspend, .target = node0, .lasts = 2s});
  EXPECT_TRUE(blocked(to_node)) << "its NIC sleeps too";
  pass(3s);
  EXPECT_TRUE(pool.nodes[0]->stopped());
  EXPECT_FALSE(blocked(to_node));
  pass(3s);
  EXPECT_FALSE(pool.nodes[0]->stopped());
}

TEST_F(InjectorTest, ABlockIsOneWayAndACutBoth) {
  injector.begin({.kind = FaultKind::block, .target = node0, .other = client0, .lasts = 4s});
  EXPECT_TRUE(blocked(from_node));
  EXPECT_FALSE(blocked(to_node));
  injector.begin({.kind = FaultKind::cut, .target = node0, .lasts = 2s});
  EXPECT_TRUE(blocked(to_node));
  pass(3s);
  EXPECT_TRUE(blocked(from_node)) << "the end of the one does not end the other";
  EXPECT_FALSE(blocked(to_node));
}

TEST_F(InjectorTest, WhatIsDueWhileAClockStandsStillComesWhenItRunsAgain) {
  injector.begin({.kind = FaultKind::freeze, .target = client0, .lasts = 3s});
  pool.nodes[0]->crash();
  pool.nodes[1]->crash();
  pool.nodes[2]->crash();
  const OperationId put = pool.clients[0]->put({{.key = "k", .size = 4_KiB}}, false, 1s);
  pass(2900ms);
  EXPECT_EQ(pool.witness.outcome(put), "pending") << "its deadline does not come";
  pass(2s);
  EXPECT_NE(pool.witness.outcome(put), "pending");
}

TEST_F(InjectorTest, ANodeThatMovesIsFoundAtItsNewAddressAlone) {
  ASSERT_EQ(pool.put(*pool.clients[0], "k", 4_KiB), "");
  for (std::uint32_t i = 0; i < 3; ++i) {
    injector.begin({.kind = FaultKind::move, .target = {Role::node, i}, .lasts = 1s});
  }
  pass(40s);
  EXPECT_NE(pool.nodes[0]->endpoint(), "n0:node0");
  EXPECT_NE(pool.get(*pool.clients[1], "k", 4_KiB), "") << "its memory is gone";
  ASSERT_EQ(pool.put(*pool.clients[0], "other", 4_KiB), "");
  EXPECT_EQ(pool.get(*pool.clients[1], "other", 4_KiB), "");
}

// Heartbeats, here: four of a node in four seconds, and those of the echo once more.
TEST_F(InjectorTest, AnEchoRepeatsWhatANodeSaysToItsMasterUntilItIsOver) {
  const auto served_in = [&](Duration time) {
    const std::uint64_t before = pool.master->requests_served();
    pass(time);
    return pool.master->requests_served() - before;
  };
  pass(2s);
  const std::uint64_t usual = served_in(4s);
  injector.begin({.kind = FaultKind::echo, .target = node0, .amount = 1'000'000, .lasts = 4s});
  EXPECT_EQ(served_in(4s), usual + 4);
  EXPECT_EQ(served_in(4s), usual);
}

TEST_F(InjectorTest, ANodeComesBackWithAnotherSize) {
  injector.begin({.kind = FaultKind::resize, .target = node0, .amount = 65'536, .lasts = 1s});
  pass(40s);
  const StatusReport status = pool.master->machine()->status(pool.master->now());
  EXPECT_EQ(status.capacity, 2_MiB + 64_KiB);
}

TEST_F(InjectorTest, A20AFlippedBitCostsAFailedGetAndThenTheKeyIsAMissOrWhole) {
  for (int round = 0; round < 20; ++round) {
    const std::string key = "k" + std::to_string(round);
    ASSERT_EQ(pool.put(*pool.clients[0], key, 4_KiB), "");
    for (std::uint32_t i = 0; i < 3; ++i) {
      injector.begin({.kind = FaultKind::flip, .target = {Role::node, i}, .amount = 1});
    }
  }
  EXPECT_GT(injector.flipped_bits(), 50u) << "one for each node with an extent";
  std::size_t mismatches = 0;
  for (int round = 0; round < 20; ++round) {
    const std::string key = "k" + std::to_string(round);
    const std::string first = pool.get(*pool.clients[1], key, 4_KiB);
    mismatches += first.find("CHECKSUM_MISMATCH") != std::string::npos ? 1 : 0;
    pass(10ms);  // the node looks, and tells the master
    EXPECT_EQ(pool.get(*pool.clients[1], key, 4_KiB).find("CHECKSUM_MISMATCH"), std::string::npos)
        << key;
  }
  EXPECT_GT(mismatches, 5u);
  pass(2s);
  for (int round = 0; round < 20; ++round) {
    const std::string key = "k" + std::to_string(round);
    if (!pool.get(*pool.clients[1], key, 4_KiB).empty()) {
      ASSERT_EQ(pool.put(*pool.clients[0], key, 4_KiB), "") << "it can be put again";
    }
  }
}

TEST_F(InjectorTest, WhenAllFaultsAreOverEverythingRuns) {
  for (const FaultInfo& kind : all_faults()) {
    if (kind.kind == FaultKind::start || kind.kind == FaultKind::turn) continue;
    Fault fault{.kind = kind.kind, .target = node0, .other = client0, .amount = 64, .lasts = 100s};
    if (kind.roles == "m") fault.target = master0;
    injector.begin(fault);
  }
  pass(1s);
  injector.end_all();
  EXPECT_TRUE(pool.nodes[0]->alive() && !pool.nodes[0]->stopped());
  EXPECT_TRUE(pool.master->alive());
  pass(60s);
  ASSERT_EQ(pool.put(*pool.clients[0], "k", 32_B), "");
  EXPECT_EQ(pool.get(*pool.clients[1], "k", 32_B), "");
}

}  // namespace
}  // namespace larder::sim
