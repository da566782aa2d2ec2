#include <gtest/gtest.h>

#include "tests/pool/pool.h"

// Statements of users that only a whole pool can show: what goes wrong between a reader and
// whatever happens to the object meanwhile. Each is tried at many instants of the operation under
// test, over a transport whose reads are checked by the node and one whose reader checks footers.

namespace larder::sim {
namespace {

constexpr Bytes value_size = 256_KiB;
constexpr Bytes slow_nic{1'000'000'000};  // moves it in a quarter of a millisecond

class Statements : public testing::TestWithParam<bool> {
 protected:
  static WorldConfig config() { return {.transport = {.one_sided = GetParam()}}; }
  static Pool::Hardware slow() { return {.segment = 1_MiB, .nic_per_second = slow_nic}; }

  static bool found(Pool& pool, ClientProcess& client, const std::string& key) {
    pool.witness.found.clear();
    client.exists({key});
    pool.settle();
    return pool.witness.found == std::vector{true};
  }
};
INSTANTIATE_TEST_SUITE_P(Transports, Statements, testing::Bool(), [](const auto& parameter) {
  return parameter.param ? "OneSided" : "Tcp";
});

// Whether a get under way, begun before the key was put anew, gave a value at all; it never gives
// anything but one of the two (the witness looks).
TEST_P(Statements, A1B5AReadUnderForcedRemovalAndANewPutIsAnErrorOrOneWholeValue) {
  std::size_t failed = 0;
  for (int instant = 0; instant < 30; ++instant) {
    Pool pool(config(), slow());
    ASSERT_EQ(pool.put(*pool.clients[0], "k", value_size), "");
    const OperationId read = pool.clients[1]->get({{.key = "k", .room = value_size}}, 5s);
    pool.world.run_for(instant * 20us);
    const OperationId removal = pool.clients[0]->remove({"k"}, true);
    const OperationId again = pool.clients[0]->put({{.key = "k", .size = value_size}});
    pool.settle();
    EXPECT_EQ(pool.witness.outcome(removal), "") << "a lease does not hold up a forced removal";
    EXPECT_NE(pool.witness.outcome(read), "pending");
    failed += pool.witness.outcome(read).empty() ? 0 : 1;
    if (pool.witness.outcome(again).empty()) {
      ASSERT_EQ(pool.get(*pool.clients[1], "k", value_size), "");
      EXPECT_EQ(pool.witness.last_read, WriteId{2});
    }
  }
  EXPECT_LT(failed, 30u) << "some of them end before the removal";
}

// A reader that sleeps through its lease, while the value is replaced where it lay, does not return
// what it finds there.
TEST_P(Statements, A1AReaderThatSleepsThroughItsLeaseDoesNotCallItsBytesRight) {
  WorldConfig short_lease = config();
  short_lease.timing.lease = 500ms;
  short_lease.timing.exists_lease = 500ms;
  for (int instant = 0; instant < 12; ++instant) {
    Pool pool(short_lease, slow());
    ASSERT_EQ(pool.put(*pool.clients[0], "k", value_size), "");
    const OperationId read = pool.clients[1]->get({{.key = "k", .room = value_size}}, 800ms);
    pool.world.run_for(60us + instant * 20us);
    pool.clients[1]->stop();
    pool.clients[0]->remove({"k"}, true);
    pool.world.run_for(200ms);
    pool.clients[0]->put({{.key = "k", .size = value_size}});
    pool.world.run_for(1s);
    pool.clients[1]->go_on();
    pool.settle();
    EXPECT_NE(pool.witness.outcome(read), "") << "its deadline and its lease are over";
    EXPECT_NE(pool.witness.outcome(read), "pending");
  }
}

TEST_P(Statements, A5AWriterThatWakesUpLateChangesNoByteOfTheNextValue) {
  for (int instant = 0; instant < 12; ++instant) {
    Pool pool(config(), slow());
    const OperationId first = pool.clients[0]->put({{.key = "k", .size = value_size}}, false, 60s);
    pool.world.run_for(60us + instant * 20us);
    pool.clients[0]->stop();  // its session is lost meanwhile
    pool.world.run_for(25s);
    const OperationId second = pool.clients[1]->put({{.key = "k", .size = value_size}});
    pool.world.run_for(5s);
    ASSERT_EQ(pool.witness.outcome(second), "") << "at instant " << instant;
    pool.clients[0]->go_on();
    pool.settle();
    EXPECT_NE(pool.witness.outcome(first), "pending");
    ASSERT_EQ(pool.get(*pool.clients[1], "k", value_size), "");
  }
}

TEST_P(Statements, A9OfTwoConcurrentPutsOneWholeValueIsLeft) {
  for (int instant = 0; instant < 30; ++instant) {
    Pool pool(config(), slow());
    const OperationId one = pool.clients[0]->put({{.key = "k", .size = value_size}});
    pool.world.run_for(instant * 20us);
    const OperationId other = pool.clients[1]->put({{.key = "k", .size = value_size}});
    pool.settle();
    const bool both = pool.witness.outcome(one).empty() && pool.witness.outcome(other).empty();
    EXPECT_TRUE(pool.witness.outcome(one).empty() || pool.witness.outcome(other).empty());
    if (!both) {
      const std::string& loser = pool.witness.outcome(one) + pool.witness.outcome(other);
      EXPECT_NE(loser.find("PUT_IN_FLIGHT"), std::string::npos) << loser;
    }
    ASSERT_EQ(pool.get(*pool.clients[1], "k", value_size), "");
    EXPECT_EQ(pool.master->machine()->status(pool.master->now()).objects, 1u);
  }
}

// Others fill the pool meanwhile, so that whatever may be evicted is.
TEST_P(Statements, A9WhatExistsCanBeReadWithinTheLeaseThatCameWithTheAnswer) {
  Pool pool(config(), slow());
  ASSERT_EQ(pool.put(*pool.clients[0], "k", value_size), "");
  ASSERT_TRUE(found(pool, *pool.clients[1], "k"));
  for (int i = 0; i < 24; ++i) {
    pool.clients[0]->put({{.key = "other" + std::to_string(i), .size = value_size}});
  }
  pool.world.run_for(500ms);  // of the second that the short lease lasts
  const OperationId read = pool.clients[1]->get({{.key = "k", .room = value_size}});
  pool.settle();
  EXPECT_EQ(pool.witness.outcome(read), "");
  EXPECT_GT(pool.master->machine()->status(pool.master->now()).evicted_objects, 0u);
}

TEST_P(Statements, B1TheKeyOfADeadWriterCanBePutBySomebodyElseAndItsSpaceComesBack) {
  for (int instant = 0; instant < 12; ++instant) {
    Pool pool(config(), slow());
    pool.clients[0]->put({{.key = "k", .size = value_size, .replicas = 2}});
    pool.world.run_for(instant * 40us);
    pool.clients[0]->crash();
    pool.world.run_for(11s);  // its session is lost after ten
    const bool finished = found(pool, *pool.clients[1], "k");
    if (!finished) ASSERT_EQ(pool.put(*pool.clients[1], "k", value_size), "");
    ASSERT_EQ(pool.get(*pool.clients[1], "k", value_size), "");
    const StatusReport status = pool.master->machine()->status(pool.master->now());
    EXPECT_EQ(status.quarantined, 0_B);
    EXPECT_LT(status.used, value_size * (finished ? 3 : 2)) << "no extent is left over";
  }
}

TEST_P(Statements, B2AnUpsertThatFailsLeavesTheOldValueReadable) {
  std::size_t failed = 0;
  for (int instant = 0; instant < 12; ++instant) {
    Pool pool(config(), slow());
    ASSERT_EQ(pool.put(*pool.clients[0], "k", value_size), "");
    pool.clients[0]->put({{.key = "k", .size = value_size}}, true);
    pool.world.run_for(instant * 40us);
    pool.clients[0]->crash();
    ASSERT_EQ(pool.get(*pool.clients[1], "k", value_size), "");
    failed += pool.witness.last_read == WriteId{1} ? 1 : 0;
    pool.world.run_for(30s);  // the dead upsert is cleaned up
    ASSERT_EQ(pool.get(*pool.clients[1], "k", value_size), "") << "at instant " << instant;
  }
  EXPECT_GT(failed, 3u) << "most of them die before their end";
}

TEST_P(Statements, B14AKilledNodeIsGoneFromExistsInTimeAndItsValuesCanBePutAgain) {
  Pool pool(config());
  std::vector<std::string> keys;
  for (int i = 0; i < 9; ++i) keys.push_back("k" + std::to_string(i));
  for (const std::string& key : keys) ASSERT_EQ(pool.put(*pool.clients[0], key, 4_KiB), "");
  pool.nodes[0]->crash();
  pool.nodes[1]->crash();
  const Timing timing;
  pool.world.run_for(timing.hidden_after_silence + 1s);
  std::size_t gone = 0;
  for (const std::string& key : keys) {
    if (found(pool, *pool.clients[1], key)) {
      EXPECT_EQ(pool.get(*pool.clients[1], key, 4_KiB), "") << "what exists is readable";
      continue;
    }
    ++gone;
    ASSERT_EQ(pool.put(*pool.clients[1], key, 4_KiB), "");
    ASSERT_EQ(pool.get(*pool.clients[0], key, 4_KiB), "");
  }
  EXPECT_GT(gone, 0u);
  EXPECT_LT(gone, keys.size());
}

// The dead are asked at most once a second, however many gets there are.
TEST_P(Statements, B14ADeadEndpointIsTriedAtMostOnceASecond) {
  WorldConfig patient = config();
  patient.timing.hidden_after_silence = 60s;  // the master goes on answering with it
  patient.timing.hidden_after_disconnect = 60s;
  patient.timing.node_lost = 120s;
  Pool pool(patient);
  ASSERT_EQ(pool.put(*pool.clients[0], "k", 4_KiB, 2), "");
  pool.nodes[0]->crash();
  pool.nodes[1]->crash();
  pool.nodes[2]->crash();
  const std::uint64_t before = pool.clients[1]->machine()->counters().transfers;
  for (int i = 0; i < 200; ++i) {  // twenty gets a second
    pool.clients[1]->get({{.key = "k", .room = 4_KiB}}, 200ms);
    pool.world.run_for(50ms);
  }
  pool.settle();
  const std::uint64_t tries = pool.clients[1]->machine()->counters().transfers - before;
  EXPECT_LE(tries, 2u * 12) << "two endpoints, ten seconds and a bit";
  EXPECT_GE(tries, 2u);
}

}  // namespace
}  // namespace larder::sim
