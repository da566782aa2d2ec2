#include "sim/cluster/world.h"

#include <gtest/gtest.h>

#include "tests/pool/pool.h"

namespace larder::sim {
namespace {

class WorldTest : public testing::TestWithParam<bool> {
 protected:
  static WorldConfig config() { return {.transport = {.one_sided = GetParam()}}; }
};
INSTANTIATE_TEST_SUITE_P(Transports, WorldTest, testing::Bool(), [](const auto& parameter) {
  return parameter.param ? "OneSided" : "Tcp";
});

TEST_P(WorldTest, WhatOneClientPutsAnotherGetsByteForByte) {
  Pool pool(config());
  for (const std::uint64_t size : {1u, 7u, 64u, 65u, 4096u, 4097u, 100'000u}) {
    const std::string key = "k" + std::to_string(size);
    ASSERT_EQ(pool.put(*pool.clients[0], key, {size}, 2), "");
    ASSERT_EQ(pool.get(*pool.clients[1], key, {size}), "");
  }
  EXPECT_EQ(pool.witness.values_read, 7u);
  EXPECT_NE(pool.get(*pool.clients[1], "nothing", 64_B).find("OBJECT_NOT_FOUND"),
            std::string::npos);
}

TEST_P(WorldTest, ARangeIsReadAtItsOffset) {
  Pool pool(config());
  ASSERT_EQ(pool.put(*pool.clients[0], "k", 16_KiB), "");
  const OperationId id =
      pool.clients[1]->get({{.key = "k", .room = 1'001_B, .range_offset = 4'003_B}});
  pool.settle();
  EXPECT_EQ(pool.witness.outcome(id), "");
  EXPECT_EQ(pool.witness.values_read, 1u);
}

TEST_P(WorldTest, ATransportThatMovesLittleAtATimeMovesAll) {
  WorldConfig small = config();
  small.transport.transfer_bytes_max = 4_KiB;
  Pool pool(small);
  ASSERT_EQ(pool.put(*pool.clients[0], "k", 50'000_B, 2), "");
  ASSERT_EQ(pool.get(*pool.clients[1], "k", 50'000_B), "");
}

TEST_P(WorldTest, ARemovedKeyIsGoneAndAnUpsertReplaces) {
  Pool pool(config());
  ASSERT_EQ(pool.put(*pool.clients[0], "k", 4_KiB), "");
  const OperationId upsert = pool.clients[0]->put({{.key = "k", .size = 4_KiB}}, true);
  pool.settle();
  EXPECT_EQ(pool.witness.outcome(upsert), "");
  ASSERT_EQ(pool.get(*pool.clients[1], "k", 4_KiB), "");
  EXPECT_EQ(pool.witness.last_read, WriteId{2});
  const OperationId remove = pool.clients[1]->remove({"k"}, true);
  pool.settle();
  EXPECT_EQ(pool.witness.outcome(remove), "");
  pool.clients[0]->exists({"k"});
  pool.settle();
  EXPECT_EQ(pool.witness.found, std::vector{false});
}

TEST_P(WorldTest, AGetFailsOverWhenNodesDie) {
  Pool pool(config());
  ASSERT_EQ(pool.put(*pool.clients[0], "k", 64_KiB, 3), "");
  pool.nodes[0]->crash();
  EXPECT_EQ(pool.get(*pool.clients[1], "k", 64_KiB), "");
  const OperationId id = pool.clients[1]->get({{.key = "k", .room = 64_KiB}});
  pool.world.run_for(12us);
  pool.nodes[1]->crash();
  pool.settle();
  EXPECT_EQ(pool.witness.outcome(id), "");
}

TEST_P(WorldTest, CommittedObjectsAreReadAgainAfterAMasterRestart) {
  Pool pool(config());
  ASSERT_EQ(pool.put(*pool.clients[0], "k", 64_KiB), "");
  pool.master->crash();
  pool.world.run_for(500ms);
  pool.master->start();
  pool.world.run_for(2s);
  EXPECT_EQ(pool.get(*pool.clients[1], "k", 64_KiB), "");
  EXPECT_EQ(pool.put(*pool.clients[0], "k2", 64_KiB), "");
}

TEST_P(WorldTest, TheSpaceOfAWriterThatDiesInMidPutComesBack) {
  Pool pool(config());
  for (int round = 0; round < 20; ++round) {
    const OperationId id = pool.clients[0]->put({{.key = "k", .size = 300'000_B, .replicas = 2}});
    pool.world.run_for(4us + round * 6us);
    pool.clients[0]->crash();
    pool.clients[0]->start();
    EXPECT_TRUE(pool.witness.lost.contains(id) || pool.witness.outcome(id) != "pending");
    pool.world.run_for(25s);
    pool.clients[0]->remove({"k"}, true);
    pool.settle();
  }
  const StatusReport status = pool.master->machine()->status(pool.master->now());
  EXPECT_EQ(status.unfinished_puts, 0u);
  EXPECT_EQ(status.used, 0_B);
  EXPECT_EQ(status.quarantined, 0_B);
}

TEST_P(WorldTest, AStoppedNodeDelaysAndDoesNotHarm) {
  Pool pool(config());
  ASSERT_EQ(pool.put(*pool.clients[0], "k", 64_KiB, 3), "");
  const OperationId id = pool.clients[1]->get({{.key = "k", .room = 64_KiB}});
  pool.world.run_for(10us);
  for (NodeProcess* node : pool.nodes) node->stop();
  pool.world.run_for(1s);
  for (NodeProcess* node : pool.nodes) node->go_on();
  pool.settle();
  EXPECT_EQ(pool.witness.outcome(id), "");
}

// Objects of any size for nothing but their records: segments without memory, bytes that nobody
// has.
TEST(World, ACapacityRunMovesLargeObjectsWithoutTheirBytes) {
  WorldConfig capacity{
      .network = {.chunk = 1_GiB}, .checksum = false, .transport = {.content = false}};
  Witness witness;
  World world(capacity, witness);
  MasterProcess& master = world.add_master(world.add_host("m"));
  for (const char* name : {"a", "b"}) {
    world.add_node(world.add_host(name), master, {.segments = {1_TiB}});
  }
  ClientProcess& client = world.add_client(world.add_host("c"), master);
  world.run_for(15s);
  const Instant begin = world.kernel().now();
  const OperationId put = client.put({{.key = "k", .size = 10_GiB, .replicas = 2}});
  ASSERT_TRUE(world.run_until_idle(60s));
  EXPECT_EQ(witness.outcome(put), "");
  // Twice 10 GiB out of one NIC of 12.5 GB/s.
  const std::chrono::duration<double> took = world.kernel().now() - begin;
  EXPECT_NEAR(took.count(), 20 * 1.073741824 / 12.5, 1.2);
  const OperationId get = client.get({{.key = "k", .room = 10_GiB}});
  ASSERT_TRUE(world.run_until_idle(60s));
  EXPECT_EQ(witness.outcome(get), "");
  world.check_invariants();
  EXPECT_TRUE(witness.violations.empty());
}

}  // namespace
}  // namespace larder::sim
