#include "tests/unit/core/master/harness.h"

namespace larder::testing {
namespace {

using namespace std::chrono_literals;

class RemovalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    h.join();
    h.open(alice);
    h.open(bob);
    h.kept_alive = {alice, bob};
  }
  MasterHarness::FakeNode& node() { return h.nodes["n0"]; }
  MasterHarness h;
};

TEST_F(RemovalTest, ItIsUnreadableAtOnceAndAnsweredWhenItsNodeHasRetiredIt) {
  node().confirms = false;
  const PutGrant grant = h.put(alice, "k");
  const Ticket removed = h.remove(alice, "k");
  EXPECT_FALSE(h.answered(removed));
  EXPECT_FALSE(h.readable(bob, "k"));
  ASSERT_EQ(node().asked.size(), 1u);
  EXPECT_EQ(node().asked[0], (ExtentName{grant.put_id, grant.replicas[0]}));
  h.confirm("n0");
  EXPECT_TRUE(h.answer(removed).has_value());
  EXPECT_EQ(h.status().free, 1_MiB);
}

TEST_F(RemovalTest, ItWaitsForWhatIsOlderThanItWhateverOfLaterVersionsIsRetiredMeanwhile) {
  h.join({.name = "n1"});
  h.join({.name = "n2"});
  for (auto& [name, each] : h.nodes) each.confirms = false;
  const auto put = [&](std::uint32_t replicas, std::vector<SegmentId> avoid) {
    const PutGrant grant = h.value<PutGrant>(
        h.call(alice, PutStart{.items = {{.key = "k", .size = 1000_B, .replicas = replicas}},
                               .avoid = std::move(avoid)}));
    EXPECT_TRUE(h.answer(h.end(alice, "k", grant.put_id, (1u << replicas) - 1)).has_value());
    return grant;
  };
  put(1, {h.nodes["n1"].segment, h.nodes["n2"].segment});
  const Ticket first = h.remove(alice, "k");
  const PutGrant later = put(2, {node().segment});
  const Ticket second = h.remove(bob, "k");
  const bool n1_is_first = later.replicas[0].segment == h.nodes["n1"].segment;

  h.confirm(n1_is_first ? "n1" : "n2");
  EXPECT_FALSE(h.answered(first)) << "n0 still has the version that it took away";
  EXPECT_FALSE(h.answered(second));
  h.confirm("n0");
  EXPECT_TRUE(h.answer(first).has_value());
  EXPECT_FALSE(h.answered(second));
  h.confirm(n1_is_first ? "n2" : "n1");
  EXPECT_TRUE(h.answer(second).has_value());
}

TEST_F(RemovalTest, QuarantinedSpaceIsNotGivenOutBeforeItsConfirmation) {
  node().confirms = false;
  const PutGrant old = h.put(alice, "k", 900_KiB);
  h.remove(alice, "k");
  const Ticket next = h.start(alice, "next", 900_KiB);
  EXPECT_FALSE(h.answered(next));
  // Confirmations of another put id, place or segment change nothing.
  const ExtentName right{old.put_id, old.replicas[0]};
  ExtentName other_put = right;
  other_put.put_id.counter += 1;
  ExtentName other_place = right;
  other_place.location.offset += 4096_B;
  ExtentName other_segment = right;
  other_segment.location.segment = {1, 1};
  h.send({.body = ConfirmRetirement{.incarnation = node().incarnation,
                                    .registration = node().registration,
                                    .retired = {other_put, other_place, other_segment}}});
  EXPECT_FALSE(h.answered(next));
  EXPECT_GT(h.status().quarantined, 900_KiB);
  h.confirm("n0");
  EXPECT_EQ(h.value<PutGrant>(next).replicas[0], old.replicas[0]);
}

TEST_F(RemovalTest, ARetirementIsAskedForUntilItIsAnswered) {
  node().confirms = false;
  h.put(alice, "k");
  const Ticket removed = h.remove(alice, "k");
  node().asked.clear();  // it was lost
  h.pass(1s);
  EXPECT_EQ(node().asked.size(), 1u);
  node().asked.clear();
  h.pass(1s);
  EXPECT_EQ(node().asked.size(), 1u);
  h.confirm("n0");
  EXPECT_TRUE(h.answer(removed).has_value());
}

TEST_F(RemovalTest, H2ItWaitsForAnEvictedVersion) {
  node().confirms = false;
  h.put(alice, "k", 900_KiB);
  const Ticket pushes = h.start(alice, "other", 900_KiB);
  h.tick();
  ASSERT_EQ(h.status().evicted_objects, 1u);
  const Ticket removed = h.remove(bob, "k");
  EXPECT_FALSE(h.answered(removed)) << "NOT_FOUND waits too";
  h.confirm("n0");
  EXPECT_EQ(h.error(removed), ErrorCode::object_not_found);
  EXPECT_TRUE(h.answered(pushes));
}

TEST_F(RemovalTest, H2ItWaitsForARevokedPut) {
  node().confirms = false;
  const PutGrant grant = h.value<PutGrant>(h.start(alice, "k"));
  const Ticket revoked = h.call(alice, PutRevoke{.items = {{"k", grant.put_id}}});
  const Ticket removed = h.remove(bob, "k");
  EXPECT_FALSE(h.answered(revoked));
  EXPECT_FALSE(h.answered(removed));
  h.confirm("n0");
  EXPECT_TRUE(h.answer(revoked).has_value());
  EXPECT_EQ(h.error(removed), ErrorCode::object_not_found);
}

TEST_F(RemovalTest, H2ItWaitsForATimedOutPutThoughAnotherWasPutSince) {
  const PutGrant first = h.value<PutGrant>(h.start(alice, "k"));
  node().confirms = false;
  h.pass(first.time_allowed);
  h.put(bob, "k");
  const Ticket removed = h.remove(bob, "k");
  ASSERT_EQ(node().asked.back().put_id.epoch, first.put_id.epoch);
  h.send({.body = ConfirmRetirement{.incarnation = node().incarnation,
                                    .registration = node().registration,
                                    .retired = {node().asked.back()}}});
  EXPECT_FALSE(h.answered(removed)) << "the newer version alone is retired";
  h.confirm("n0");
  EXPECT_TRUE(h.answer(removed).has_value());
}

TEST_F(RemovalTest, H2AnUpsertWaitsForAnEvictedOlderVersion) {
  node().confirms = false;
  h.put(alice, "k", 900_KiB);
  h.start(alice, "other", 900_KiB);
  h.tick();
  ASSERT_EQ(h.status().evicted_objects, 1u);
  const PutGrant next = h.value<PutGrant>(h.start(bob, "k", 1000_B, true));
  const Ticket ended = h.end(bob, "k", next.put_id);
  EXPECT_FALSE(h.answered(ended));
  // Asked again in a new call: that one waits as well.
  const Ticket again = h.end(bob, "k", next.put_id);
  EXPECT_FALSE(h.answered(again));
  h.confirm("n0");
  EXPECT_TRUE(h.answer(ended).has_value());
  EXPECT_TRUE(h.answer(again).has_value());
}

TEST_F(RemovalTest, ItDoesNotWaitForOtherKeys) {
  node().confirms = false;
  h.put(alice, "a");
  h.put(alice, "b");
  h.remove(alice, "a");
  EXPECT_EQ(h.error(h.remove(alice, "c")), ErrorCode::object_not_found);
}

TEST_F(RemovalTest, ItDoesNotWaitForAPutThatBeganAfterIt) {
  node().confirms = false;
  h.put(alice, "k");
  const Ticket removed = h.remove(alice, "k");
  const PutGrant later = h.value<PutGrant>(h.start(bob, "k"));
  h.call(bob, PutRevoke{.items = {{"k", later.put_id}}});
  const ExtentName first = node().asked.front();
  h.send({.body = ConfirmRetirement{.incarnation = node().incarnation,
                                    .registration = node().registration,
                                    .retired = {first}}});
  EXPECT_TRUE(h.answer(removed).has_value());
}

TEST_F(RemovalTest, ItKillsAnUnfinishedPut) {
  const PutGrant grant = h.value<PutGrant>(h.start(alice, "k"));
  EXPECT_EQ(h.error(h.remove(bob, "k")), ErrorCode::object_not_found);
  EXPECT_EQ(h.error(h.end(alice, "k", grant.put_id)), ErrorCode::invalid_write);
  EXPECT_EQ(h.status().free, 1_MiB);
}

TEST_F(RemovalTest, ALeasedObjectStaysAndNothingOfItChanges) {
  const PutGrant grant = h.put(alice, "k");
  h.get(bob, "k");
  const PutGrant upsert = h.value<PutGrant>(h.start(alice, "k", 1000_B, true));
  EXPECT_EQ(h.error(h.remove(alice, "k")), ErrorCode::object_has_lease);
  EXPECT_EQ(h.value<ReplicaList>(h.get(bob, "k")).put_id, grant.put_id);
  EXPECT_TRUE(h.answer(h.end(alice, "k", upsert.put_id)).has_value()) << "the upsert lives too";
}

TEST_F(RemovalTest, B5AForcedRemovalFreesALeasedObject) {
  h.put(alice, "k");
  h.get(bob, "k");
  EXPECT_TRUE(h.answer(h.remove(alice, "k", true)).has_value());
  EXPECT_FALSE(h.readable(bob, "k"));
  EXPECT_EQ(h.status().free, 1_MiB);
}

TEST_F(RemovalTest, EveryReplicaMustBeRetired) {
  h.join({.name = "n1"});
  const PutGrant grant = h.value<PutGrant>(h.start(alice, "k", 1000_B, false, 2));
  h.end(alice, "k", grant.put_id, 0b11);
  node().confirms = false;
  const Ticket removed = h.remove(alice, "k");
  EXPECT_FALSE(h.answered(removed));
  h.confirm("n0");
  EXPECT_TRUE(h.answer(removed).has_value());
}

TEST_F(RemovalTest, ALostNodeNeedNotConfirm) {
  node().confirms = false;
  h.put(alice, "k");
  const Ticket removed = h.remove(alice, "k");
  node().beating = false;
  h.pass(29s);
  EXPECT_FALSE(h.answered(removed));
  h.pass(2s);
  EXPECT_TRUE(h.answer(removed).has_value());
}

TEST_F(RemovalTest, OneMemberOfAGroupCanBeRemoved) {
  ASSERT_TRUE(h.put_item(alice, {.key = "k", .size = 1000_B, .group = "g"}));
  ASSERT_TRUE(h.put_item(alice, {.key = "v", .size = 1000_B, .group = "g"}));
  EXPECT_TRUE(h.answer(h.remove(alice, "k")).has_value());
  EXPECT_TRUE(h.readable(bob, "v"));
  EXPECT_EQ(h.error(h.remove(alice, "v")), ErrorCode::object_has_lease);
}

TEST_F(RemovalTest, A20BadBytesAreVerifiedAndACorruptReplicaIsGone) {
  const PutGrant grant = h.put(alice, "k");
  const ExtentName extent{grant.put_id, grant.replicas[0]};
  h.send({.header = {.session = bob, .bad_bytes = {{extent, "k"}}}, .body = KeepAlive{}});
  ASSERT_EQ(node().verify.size(), 1u);
  EXPECT_EQ(node().verify[0], extent);
  EXPECT_TRUE(h.readable(bob, "k")) << "until its node says so too";
  h.send({.body = ReportCorrupt{.incarnation = node().incarnation,
                                .registration = node().registration,
                                .extents = {{extent, "t", "k"}}}});
  EXPECT_FALSE(h.readable(bob, "k"));
  h.put(alice, "k");
  // A late copy of the report names the old put.
  h.send({.body = ReportCorrupt{.incarnation = node().incarnation,
                                .registration = node().registration,
                                .extents = {{extent, "t", "k"}}}});
  EXPECT_TRUE(h.readable(bob, "k"));
}

TEST_F(RemovalTest, OneCorruptReplicaOfTwoLeavesTheOther) {
  h.join({.name = "n1"});
  const PutGrant grant = h.value<PutGrant>(h.start(alice, "k", 1000_B, false, 2));
  h.end(alice, "k", grant.put_id, 0b11);
  const std::size_t bad = grant.replicas[0].segment == node().segment ? 0 : 1;
  h.send({.body = ReportCorrupt{.incarnation = node().incarnation,
                                .registration = node().registration,
                                .extents = {{{grant.put_id, grant.replicas[bad]}, "t", "k"}}}});
  const ReplicaList list = h.value<ReplicaList>(h.get(bob, "k"));
  ASSERT_EQ(list.replicas.size(), 1u);
  EXPECT_EQ(list.replicas[0], grant.replicas[1 - bad]);
}

class PendingRemovalsTest : public ::testing::Test {};

TEST_F(PendingRemovalsTest, BeyondTheirNumberRemovalsAreRefusedAndChangeNothing) {
  MasterConfig config = MasterHarness::small_nodes();
  config.pending_removals_max = 1;
  MasterHarness h(config);
  h.join();
  h.open(alice);
  h.nodes["n0"].confirms = false;
  h.put(alice, "a");
  h.put(alice, "b");
  const Ticket first = h.remove(alice, "a");
  EXPECT_EQ(h.error(h.remove(alice, "b")), ErrorCode::busy);
  EXPECT_TRUE(h.readable(alice, "b"));
  h.confirm("n0");
  EXPECT_TRUE(h.answer(first).has_value());
}

}  // namespace
}  // namespace larder::testing
