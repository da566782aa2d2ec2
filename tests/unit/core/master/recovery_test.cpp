#include "tests/unit/core/master/harness.h"

namespace larder::testing {
namespace {

using namespace std::chrono_literals;

// A master that comes after one of epoch 100, of which nodes hold what they hold.
class RecoveryTest : public ::testing::Test {
 protected:
  static constexpr IncarnationId n0_id{7, 50};
  static constexpr IncarnationId n1_id{7, 60};

  void start(Epoch epoch, Epoch recovered, std::vector<NodeKnown> known,
             std::vector<IncarnationId> lost = {}) {
    h.restart(epoch, {.durable = true,
                      .recovered_epoch = recovered,
                      .known = std::move(known),
                      .lost = std::move(lost)});
    h.open(alice);
    h.open(bob);
    h.kept_alive = {alice, bob};
    h.records.clear();
  }
  // Two known nodes that were taken in by the last master.
  void start() { start({101}, {100}, {{n0_id, "n0"}, {n1_id, "n1"}}); }
  NodeSpec n0() const { return {.name = "n0", .incarnation = n0_id, .taken = {100}}; }
  NodeSpec n1() const { return {.name = "n1", .incarnation = n1_id, .taken = {100}}; }
  static PutId old(std::uint64_t counter) { return {{100}, counter}; }

  // Known before it registers, so that reports can name its segment.
  RecoveryTest() {
    h.join(n0());
    h.join(n1());
    start();
  }
  bool recovered() const {
    for (const StateRecord& record : h.records) {
      if (std::holds_alternative<RecoveryEnded>(record)) return true;
    }
    return false;
  }
  MasterHarness h;
};

TEST_F(RecoveryTest, B15WhatIsSealedIsReadableAgain) {
  h.join(n0(), {h.sealed("n0", "k", old(5), 4096_B)});
  const ReplicaList list = h.value<ReplicaList>(h.get(bob, "k"));
  EXPECT_EQ(list.put_id, old(5));
  EXPECT_EQ(list.size, 1000_B);
  EXPECT_EQ(list.replicas[0], (ReplicaLocation{h.nodes["n0"].segment, 4096_B}));
}

TEST_F(RecoveryTest, ReplicasOnTwoNodesAreOneObject) {
  h.join(n0(), {h.sealed("n0", "k", old(5))});
  h.join(n1(), {h.sealed("n1", "k", old(5))});
  EXPECT_EQ(h.value<ReplicaList>(h.get(bob, "k")).replicas.size(), 2u);
  EXPECT_EQ(h.status().objects, 1u);
}

TEST_F(RecoveryTest, OfTwoVersionsTheHigherPutIdWinsInEitherOrder) {
  h.nodes["n0"].confirms = h.nodes["n1"].confirms = false;
  h.join(n0(), {h.sealed("n0", "a", old(5)), h.sealed("n0", "b", old(9), 4096_B)});
  h.join(n1(), {h.sealed("n1", "a", old(6)), h.sealed("n1", "b", old(8), 4096_B)});
  EXPECT_FALSE(h.readable(bob, "a")) << "n1 is shown when the older version there is retired";
  h.confirm("n1");
  EXPECT_EQ(h.value<ReplicaList>(h.get(bob, "a")).put_id, old(6));
  EXPECT_EQ(h.value<ReplicaList>(h.get(bob, "b")).put_id, old(9));
  ASSERT_EQ(h.nodes["n0"].asked.size(), 1u);
  EXPECT_EQ(h.nodes["n0"].asked[0].put_id, old(5));
}

TEST_F(RecoveryTest, ThereIsNoSpaceBeforeANodesReportIsComplete) {
  h.register_node(n0());
  EXPECT_EQ(h.error(h.start(alice, "k")), ErrorCode::no_available_handle);
  h.report("n0", {h.sealed("n0", "old", old(5))}, 0, false);
  EXPECT_EQ(h.error(h.start(alice, "k")), ErrorCode::no_available_handle);
  EXPECT_FALSE(h.readable(bob, "old"));
  h.report("n0", {}, 1, true);
  EXPECT_TRUE(h.answer(h.start(alice, "k")).has_value());
  EXPECT_TRUE(h.readable(bob, "old"));
}

TEST_F(RecoveryTest, B15AReportThatGoesOnWhenTheTimeOfRecoveryIsOverIsTakenUpWhole) {
  h.join(n1());
  h.register_node(n0());
  std::uint64_t part = 0;
  for (; part < 8; ++part) {
    const std::string key = "k" + std::to_string(part);
    h.report("n0", {h.sealed("n0", key, old(5 + part), {4096 * part})},
             static_cast<std::uint32_t>(part), false);
    h.pass(4s);
    EXPECT_FALSE(recovered()) << "what it has not said yet would be lost, at " << part;
  }
  h.report("n0", {}, static_cast<std::uint32_t>(part), true);
  EXPECT_TRUE(recovered());
  EXPECT_EQ(h.status().objects, part);
  EXPECT_TRUE(h.nodes["n0"].asked.empty()) << "nothing was retired";
  EXPECT_TRUE(h.readable(bob, "k0"));
  EXPECT_TRUE(h.readable(bob, "k7"));
}

TEST_F(RecoveryTest, AReportThatDoesNotGoOnHoldsUpRecoveryForFiveSeconds) {
  h.join(n1());
  h.register_node(n0());
  h.pass(8s);
  h.report("n0", {h.sealed("n0", "a", old(5))}, 0, false);
  h.pass(5s - 1ns);
  EXPECT_FALSE(recovered());
  h.pass(1ns);
  EXPECT_TRUE(recovered());
  h.report("n0", {h.sealed("n0", "b", old(6), 4096_B)}, 1, true);
  EXPECT_FALSE(h.readable(bob, "b")) << "its removal may have been acknowledged meanwhile";
}

TEST_F(RecoveryTest, A13RestoredExtentsAreTakenBeforeTheFirstAllocation) {
  std::vector<ReportInventory::Item> items;
  std::vector<std::string> keys;
  for (int i = 0; i < 100; ++i) keys.push_back("old" + std::to_string(i));
  // Every other place of 1,088 bytes, not in order.
  for (std::uint64_t i = 0; i < 100; ++i) {
    const std::uint64_t place = (i * 37) % 100;
    items.push_back(h.sealed("n0", keys[i], old(i + 1), {place * 2 * 1088}));
  }
  h.join(n0(), items);
  for (int i = 0; i < 400; ++i) {
    const PutGrant grant = h.value<PutGrant>(h.start(alice, "new" + std::to_string(i)));
    const Bytes begin = grant.replicas[0].offset;
    for (const ReportInventory::Item& item : items) {
      const Bytes other = item.extent.location.offset;
      EXPECT_TRUE(begin + 1088_B <= other || other + 1088_B <= begin);
    }
  }
}

TEST_F(RecoveryTest, RemoveAndUpsertWaitForItsEndAndUnknownKeysAreMisses) {
  h.join(n0(), {h.sealed("n0", "k", old(5))});
  EXPECT_TRUE(h.status().recovering);
  EXPECT_EQ(h.error(h.remove(alice, "k", true)), ErrorCode::unavailable_in_current_status);
  EXPECT_EQ(h.error(h.start(alice, "k", 10_B, true)), ErrorCode::unavailable_in_current_status);
  EXPECT_EQ(h.error(h.get(alice, "other")), ErrorCode::object_not_found);
  h.put(alice, "plain");
  h.join(n1());
  h.tick();
  EXPECT_FALSE(h.status().recovering);
  EXPECT_TRUE(h.answer(h.remove(alice, "k", true)).has_value());
}

TEST_F(RecoveryTest, ItEndsAfterItsTimeAndTheRecordComesFirst) {
  h.join(n0());
  h.pass(10s - 1ns);
  EXPECT_FALSE(recovered());
  EXPECT_EQ(h.error(h.remove(alice, "k")), ErrorCode::unavailable_in_current_status);
  h.now += 1ns;  // the removal itself finds that it is over
  EXPECT_EQ(h.error(h.remove(alice, "k")), ErrorCode::object_not_found);
  EXPECT_TRUE(recovered());
}

TEST_F(RecoveryTest, H3WhatANodeReportsAfterItsEndIsRetiredAndNotTakenUp) {
  h.join(n0());
  h.pass(10s);
  EXPECT_EQ(h.error(h.remove(alice, "k")), ErrorCode::object_not_found) << "acknowledged";
  h.nodes["n1"].confirms = false;
  h.nodes["n1"].taken_reports = 0;
  EXPECT_TRUE(h.value<NodeRegistered>(h.register_node(n1())).retire_everything);
  h.report("n1", {h.sealed("n1", "k", old(5))});
  EXPECT_FALSE(h.readable(bob, "k"));
  EXPECT_EQ(h.nodes["n1"].taken_reports, 0) << "not before it has retired all of it";
  h.confirm("n1");
  EXPECT_EQ(h.nodes["n1"].taken_reports, 1);
  EXPECT_FALSE(h.readable(bob, "k"));
}

TEST_F(RecoveryTest, H3APartThatComesAfterItsEndIsRetired) {
  h.join(n0());
  EXPECT_FALSE(h.value<NodeRegistered>(h.register_node(n1())).retire_everything);
  h.report("n1", {h.sealed("n1", "early", old(5))}, 0, false);
  h.nodes["n0"].beating = h.nodes["n1"].beating = true;
  h.pass(10s);
  EXPECT_EQ(h.error(h.remove(alice, "late")), ErrorCode::object_not_found);
  const Ticket removed = h.remove(alice, "early", true);
  h.report("n1", {h.sealed("n1", "late", old(6), 4096_B)}, 1, true);
  h.tick();
  EXPECT_FALSE(h.readable(bob, "late"));
  EXPECT_TRUE(h.answer(removed).has_value());
  EXPECT_EQ(h.status().used, 0_B);
}

TEST_F(RecoveryTest, H3ANodeThatMissedAWholeEpochRetiresEverything) {
  h.join(n0());
  h.pass(10s);
  h.remove(alice, "k");
  start({102}, {101}, {{n0_id, "n0"}, {n1_id, "n1"}});  // n1 was never taken in by epoch 101
  EXPECT_TRUE(h.value<NodeRegistered>(h.register_node(n1())).retire_everything);
  h.report("n1", {h.sealed("n1", "k", old(5))});
  EXPECT_FALSE(h.readable(bob, "k"));
}

TEST_F(RecoveryTest, H3ANodeThatReportedButWasNotToldSoKeepsItsObjectsInTheSameEpoch) {
  h.join(n0(), {h.sealed("n0", "k", old(5))});
  h.join(n1());
  h.tick();
  ASSERT_TRUE(recovered());
  // It did not hear that its report was taken before its connection broke.
  EXPECT_FALSE(h.value<NodeRegistered>(h.register_node(n0())).retire_everything);
  h.report("n0", {h.sealed("n0", "k", old(5))});
  h.tick();
  EXPECT_TRUE(h.readable(bob, "k"));
}

TEST_F(RecoveryTest, B20TheFirstMasterOfAStateDirectoryTakesUpWhatANodeOfAnotherHas) {
  h.restart({101}, {.durable = true, .recovered_epoch = {}, .known = {}, .lost = {}});
  h.open(alice);
  h.tick();
  EXPECT_FALSE(h.status().recovering) << "it waits for nobody";
  NodeSpec spec = n0();
  spec.taken = {100};
  EXPECT_FALSE(h.value<NodeRegistered>(h.register_node(spec)).retire_everything);
  h.report("n0", {h.sealed("n0", "k", old(5))});
  h.tick();
  EXPECT_TRUE(h.readable(alice, "k"));
}

// A directory that lay about since before the masters that led these nodes.
TEST_F(RecoveryTest, B20TheMasterOfAnOldStateDirectoryTakesUpWhatLaterOnesHad) {
  start({101}, {90}, {{{9, 9}, "of its youth"}});
  h.pass(10s);
  ASSERT_TRUE(recovered());
  EXPECT_FALSE(h.value<NodeRegistered>(h.register_node(n0())).retire_everything);
  h.report("n0", {h.sealed("n0", "k", old(5))});
  h.tick();
  EXPECT_TRUE(h.readable(alice, "k"));
}

// It was last taken in with this directory, so what it holds may have been removed since without
// it.
TEST_F(RecoveryTest, H3ANodeThatItsDirectoryHasForgottenRetiresEverything) {
  start({101}, {100}, {});
  EXPECT_FALSE(h.status().recovering) << "it waits for nobody";
  EXPECT_TRUE(h.value<NodeRegistered>(h.register_node(n0())).retire_everything);
}

TEST_F(RecoveryTest, H3ANodeOfItsDirectoryThatAnotherMasterLedMeanwhileRetiresEverything) {
  start({101}, {90}, {{n0_id, "n0"}});
  h.pass(10s);
  ASSERT_TRUE(recovered());
  EXPECT_TRUE(h.value<NodeRegistered>(h.register_node(n0())).retire_everything);
}

TEST_F(RecoveryTest, H3WithoutAStateDirectoryALateNodeIsTakenUp) {
  h.restart({101}, {});
  h.open(alice);
  h.tick();
  EXPECT_FALSE(h.status().recovering);
  h.join(n0(), {h.sealed("n0", "k", old(5))});
  EXPECT_TRUE(h.readable(alice, "k"));
}

TEST_F(RecoveryTest, H4ARevokeOfAnOlderEpochIsNotAcknowledgedBeforeTheReports) {
  const Ticket early = h.call(alice, PutRevoke{.items = {{"k", old(5)}}});
  EXPECT_EQ(h.error(early), ErrorCode::unavailable_in_current_status);
  h.join(n0(), {h.sealed("n0", "k", old(5))});
  h.join(n1());
  h.tick();
  h.nodes["n0"].confirms = false;
  const Ticket revoked = h.call(alice, PutRevoke{.items = {{"k", old(5)}}});
  EXPECT_FALSE(h.readable(bob, "k"));
  EXPECT_FALSE(h.answered(revoked));
  h.confirm("n0");
  EXPECT_TRUE(h.answer(revoked).has_value());
}

TEST_F(RecoveryTest, H5AnEndOfAnOlderEpochIsAnsweredWhenTheOlderVersionIsRetired) {
  h.nodes["n0"].confirms = false;
  h.join(n1(), {h.sealed("n1", "k", old(6))});
  EXPECT_EQ(h.error(h.end(alice, "k", old(6))), ErrorCode::unavailable_in_current_status);
  h.join(n0(), {h.sealed("n0", "k", old(5))});
  h.tick();
  const Ticket ended = h.end(alice, "k", old(6));
  EXPECT_FALSE(h.answered(ended));
  h.confirm("n0");
  EXPECT_TRUE(h.answer(ended).has_value());
  EXPECT_EQ(h.error(h.end(alice, "k", old(5))), ErrorCode::invalid_write);
  EXPECT_EQ(h.error(h.end(alice, "none", old(7))), ErrorCode::invalid_write);
}

TEST_F(RecoveryTest, H6aADoubledReportIsTakenOnce) {
  h.join(n0(), {h.sealed("n0", "k", old(5))});
  h.join(n1());
  h.tick();
  h.remove(alice, "k", true);  // confirmed at once
  const PutGrant next = h.value<PutGrant>(h.start(alice, "next", 1_MiB - 64_B));
  EXPECT_TRUE(h.answer(h.report("n0", {h.sealed("n0", "k", old(5))})).has_value());
  EXPECT_FALSE(h.readable(bob, "k"));
  h.end(alice, "next", next.put_id);
  EXPECT_TRUE(h.readable(bob, "next"));
}

TEST_F(RecoveryTest, H6bARepeatedPartIsIgnoredAndAGapRefused) {
  h.register_node(n0());
  EXPECT_EQ(h.error(h.report("n0", {}, 1, true)), ErrorCode::invalid_params);
  h.report("n0", {h.sealed("n0", "a", old(5))}, 0, false);
  EXPECT_TRUE(h.answer(h.report("n0", {h.sealed("n0", "x", old(4))}, 0, true)).has_value());
  EXPECT_EQ(h.node_state("n0"), "reporting");
  h.report("n0", {h.sealed("n0", "b", old(6), 4096_B)}, 1, true);
  EXPECT_TRUE(h.readable(bob, "a"));
  EXPECT_TRUE(h.readable(bob, "b"));
  EXPECT_FALSE(h.readable(bob, "x"));
  EXPECT_EQ(h.error(h.report("n0", {}, 2, true)), ErrorCode::invalid_params);
}

TEST_F(RecoveryTest, H6cAConfirmationOfAnOlderRegistrationDoesNotCount) {
  h.join(n0(), {h.sealed("n0", "k", old(5))});
  h.join(n1());
  h.tick();
  auto& node = h.nodes["n0"];
  node.confirms = false;
  const Ticket removed = h.remove(alice, "k", true);
  const ConfirmRetirement stale{.incarnation = node.incarnation,
                                .registration = node.registration,
                                .retired = {{old(5), {node.segment, 0_B}}}};
  h.register_node(n0());
  EXPECT_EQ(h.error(h.send({.body = stale})), ErrorCode::client_not_found);
  // One of this registration, before its report is complete.
  ConfirmRetirement early = stale;
  early.registration = node.registration;
  h.send({.body = early});
  EXPECT_FALSE(h.answered(removed));
  ReportInventory::Item item = h.sealed("n0", "k", old(5));
  h.report("n0", {item});
  EXPECT_FALSE(h.answered(removed));
  EXPECT_FALSE(h.readable(bob, "k"));
  h.confirm("n0");
  EXPECT_TRUE(h.answer(removed).has_value());
}

TEST_F(RecoveryTest, H9WhatIsStillRetiringStaysInQuarantine) {
  ReportInventory::Item item = h.sealed("n0", "k", old(5), 0_B, 900_KiB);
  item.retiring = true;
  h.nodes["n0"].confirms = false;
  h.join(n0(), {item});
  h.join(n1());
  h.tick();
  EXPECT_FALSE(h.readable(bob, "k"));
  EXPECT_EQ(h.node_state("n0"), "reporting");
  const Ticket removed = h.remove(alice, "k");
  EXPECT_FALSE(h.answered(removed));
  h.confirm("n0");
  EXPECT_EQ(h.error(removed), ErrorCode::object_not_found);
  EXPECT_EQ(h.node_state("n0"), "shown");
}

TEST_F(RecoveryTest, WhatWasTakenUpIsNotFreedForOneLease) {
  h.join(n0(), {h.sealed("n0", "k", old(5), 0_B, 900_KiB)});
  h.join(n1());
  h.tick();
  EXPECT_EQ(h.error(h.remove(alice, "k")), ErrorCode::object_has_lease);
  h.pass(10s - 1ns);
  EXPECT_EQ(h.error(h.remove(alice, "k")), ErrorCode::object_has_lease);
  h.pass(1ns);
  EXPECT_TRUE(h.answer(h.remove(alice, "k")).has_value());
}

TEST_F(RecoveryTest, APlainPutDuringRecoveryWinsOverAnOlderVersionReportedLater) {
  h.join(n0());
  const PutGrant fresh = h.put(alice, "k");
  h.nodes["n1"].confirms = false;
  h.join(n1(), {h.sealed("n1", "k", old(5))});
  EXPECT_EQ(h.value<ReplicaList>(h.get(bob, "k")).put_id, fresh.put_id);
  EXPECT_EQ(h.nodes["n1"].asked.size(), 1u);
}

TEST_F(RecoveryTest, AnOlderVersionMayComeUpUnderAnUnfinishedPutAndIsReplacedByIt) {
  h.join(n0());
  const PutGrant fresh = h.value<PutGrant>(h.start(alice, "k"));
  h.join(n1(), {h.sealed("n1", "k", old(5))});
  EXPECT_EQ(h.value<ReplicaList>(h.get(bob, "k")).put_id, old(5));
  h.end(alice, "k", fresh.put_id);
  EXPECT_EQ(h.value<ReplicaList>(h.get(bob, "k")).put_id, fresh.put_id);
}

TEST_F(RecoveryTest, PinsTimesToLiveGroupsAndChecksumsComeBack) {
  ReportInventory::Item item = h.sealed("n0", "k", old(5));
  item.record.group = "g";
  item.record.time_to_live = 5s;
  item.checksum = 77;
  ReportInventory::Item member = h.sealed("n0", "v", old(6), 4096_B);
  member.record.group = "g";
  h.join(n0(), {item, member});
  const ReplicaList k = h.value<ReplicaList>(h.get(bob, "k"));
  const ReplicaList v = h.value<ReplicaList>(h.get(bob, "v"));
  EXPECT_EQ(k.checksum, 77u);
  EXPECT_EQ(k.lease.slot, v.lease.slot) << "one lease for the group";
  h.now += 5s;
  EXPECT_FALSE(h.readable(bob, "k"));
  EXPECT_TRUE(h.readable(bob, "v"));
}

TEST_F(RecoveryTest, ALostIncarnationStaysLostAndANewLifeIsNotAwaitedTwice) {
  start({101}, {100}, {{n0_id, "n0"}, {n1_id, "n1"}}, {n0_id});
  EXPECT_EQ(h.error(h.register_node(n0())), ErrorCode::node_lost);
  h.join({.name = "n1", .incarnation = {7, 77}});
  h.tick();
  EXPECT_FALSE(h.status().recovering) << "n1's old life is over, n0's is lost";
}

TEST_F(RecoveryTest, WhatThisMasterNeverGrantedInItsEpochIsRetired) {
  h.nodes["n0"].confirms = false;
  h.join(n0(), {h.sealed("n0", "k", {{101}, 77})});
  EXPECT_FALSE(h.readable(bob, "k"));
  EXPECT_EQ(h.nodes["n0"].asked.size(), 1u);
}

TEST_F(RecoveryTest, BadItemsAreRetiredOrIgnoredAndNeverTakenUp) {
  const std::string long_key(2000, 'k');
  h.nodes["n0"].confirms = false;
  ReportInventory::Item foreign = h.sealed("n1", "foreign", old(1));
  h.join(n0(), {h.sealed("n0", "a", old(5)), h.sealed("n0", "overlaps", old(6), 512_B),
                h.sealed("n0", "outside", old(7), 1_MiB), h.sealed("n0", "odd", old(8), 10001_B),
                h.sealed("n0", long_key, old(9), 64_KiB), h.sealed("n0", "", old(10), 128_KiB),
                h.sealed("n0", "zero", old(11), 192_KiB, 0_B), foreign});
  h.confirm("n0");
  h.tick();
  for (const char* key : {"overlaps", "outside", "odd", "zero", "foreign"}) {
    EXPECT_FALSE(h.readable(bob, key)) << key;
  }
  EXPECT_TRUE(h.readable(bob, "a"));
  EXPECT_EQ(h.status().used, 1088_B);
}

TEST_F(RecoveryTest, AHigherEpochEndsThisMasterWhoAnswersNothingElse) {
  h.join(n0(), {h.sealed("n0", "k", old(5))});
  const Ticket told =
      h.send({.header = {.session = alice, .highest_epoch = {102}}, .body = KeepAlive{}});
  EXPECT_EQ(h.error(told), ErrorCode::epoch_superseded);
  EXPECT_TRUE(h.master().superseded());
  EXPECT_EQ(std::get<NewerEpoch>(h.records.back()).epoch, Epoch{102});
  EXPECT_EQ(h.error(h.get(bob, "k")), ErrorCode::epoch_superseded);
  EXPECT_EQ(h.master().next_deadline(), std::nullopt);
}

TEST_F(RecoveryTest, AnEqualOrOlderEpochEndsNobody) {
  h.send({.header = {.session = alice, .highest_epoch = {101}}, .body = KeepAlive{}});
  h.send({.header = {.session = alice, .highest_epoch = {99}}, .body = KeepAlive{}});
  EXPECT_FALSE(h.master().superseded());
}

}  // namespace
}  // namespace larder::testing
