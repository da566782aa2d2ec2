#include "tests/unit/core/master/harness.h"

namespace larder::testing {
namespace {

class PutTest : public ::testing::Test {
 protected:
  void SetUp() override {
    h.join();
    h.open(alice);
    h.open(bob);
    h.kept_alive = {alice, bob};
  }
  MasterHarness h;
};

TEST_F(PutTest, AnUnfinishedPutIsNotReadable) {
  const PutGrant grant = h.value<PutGrant>(h.start(alice, "k"));
  EXPECT_EQ(grant.replicas.size(), 1u);
  EXPECT_EQ(h.error(h.get(bob, "k")), ErrorCode::object_not_found);
  EXPECT_FALSE(h.readable(bob, "k"));
  h.end(alice, "k", grant.put_id);
  EXPECT_EQ(h.value<ReplicaList>(h.get(bob, "k")).put_id, grant.put_id);
}

TEST_F(PutTest, A11AKeyThatExistsIsToldApartFromAFreshPut) {
  const PutGrant first = h.put(alice, "k");
  EXPECT_EQ(h.error(h.start(bob, "k")), ErrorCode::object_already_exists);
  EXPECT_EQ(h.value<ReplicaList>(h.get(bob, "k")).put_id, first.put_id);
}

TEST_F(PutTest, ASecondPutOfAnUnfinishedKeyIsToldThatItIsInFlight) {
  h.start(alice, "k");
  EXPECT_EQ(h.error(h.start(bob, "k")), ErrorCode::put_in_flight);
}

TEST_F(PutTest, A4AnEndOfTheFirstAttemptDoesNotTouchTheSecond) {
  const PutGrant first = h.value<PutGrant>(h.start(alice, "k"));
  h.call(alice, PutRevoke{.items = {{"k", first.put_id}}});
  const PutGrant second = h.value<PutGrant>(h.start(alice, "k"));
  EXPECT_EQ(h.error(h.end(alice, "k", first.put_id)), ErrorCode::invalid_write);
  EXPECT_FALSE(h.readable(bob, "k"));
  EXPECT_TRUE(h.answer(h.call(alice, PutRevoke{.items = {{"k", first.put_id}}})).has_value());
  EXPECT_TRUE(h.answer(h.end(alice, "k", second.put_id)).has_value());
  EXPECT_EQ(h.value<ReplicaList>(h.get(bob, "k")).put_id, second.put_id);
}

TEST_F(PutTest, OnlyItsOwnSessionMayEndOrRevokeAPut) {
  const PutGrant grant = h.value<PutGrant>(h.start(alice, "k"));
  EXPECT_EQ(h.error(h.end(bob, "k", grant.put_id)), ErrorCode::illegal_client);
  EXPECT_EQ(h.error(h.call(bob, PutRevoke{.items = {{"k", grant.put_id}}})),
            ErrorCode::illegal_client);
}

// A master that comes late to what is due must not let it pass.
TEST_F(PutTest, AnEndIsRefusedFromTheEndOfTheTimeAllowedOn) {
  const PutGrant early = h.value<PutGrant>(h.start(alice, "early"));
  const PutGrant late = h.value<PutGrant>(h.start(alice, "late"));
  h.now += late.time_allowed - Duration(1);
  EXPECT_TRUE(h.answer(h.end(alice, "early", early.put_id)).has_value());
  h.now += Duration(1);
  EXPECT_EQ(h.error(h.end(alice, "late", late.put_id)), ErrorCode::invalid_write);
  EXPECT_TRUE(h.readable(bob, "early"));
  EXPECT_FALSE(h.readable(bob, "late"));
  EXPECT_EQ(h.status().unfinished_puts, 0u);
}

TEST_F(PutTest, ARepeatedCallGetsTheFirstAnswers) {
  Request request{.header = {.session = alice, .number = 77},
                  .body = PutStart{.items = {{.key = "k", .size = 10_B}}}};
  const PutGrant first = h.value<PutGrant>(h.send(request));
  const PutGrant again = h.value<PutGrant>(h.send(request));
  EXPECT_EQ(first.put_id, again.put_id);
  EXPECT_EQ(h.status().unfinished_puts, 1u);
}

TEST_F(PutTest, ALateCopyOfARemovalDoesNotRemoveTheNextObject) {
  h.put(alice, "k");
  Request removal{.header = {.session = alice, .number = 1000, .lowest_unanswered = 1000},
                  .body = Remove{.items = {{"k"}}}};
  EXPECT_TRUE(h.answer(h.send(removal)).has_value());
  Request next{.header = {.session = alice, .number = 1001, .lowest_unanswered = 1001},
               .body = PutStart{.items = {{.key = "k", .size = 10_B}}}};
  const PutGrant grant = h.value<PutGrant>(h.send(next));
  h.send({.header = {.session = alice, .number = 1002, .lowest_unanswered = 1002},
          .body = PutEnd{.items = {{.key = "k", .put_id = grant.put_id, .sealed = 1}}}});
  EXPECT_EQ(h.error(h.send(removal)), ErrorCode::cancelled);
  EXPECT_EQ(h.value<ReplicaList>(h.get(bob, "k")).put_id, grant.put_id);
}

TEST_F(PutTest, A5AnExpiredPutFreesItsExtentAfterItsRetirement) {
  h.nodes["n0"].confirms = false;
  const PutGrant grant = h.value<PutGrant>(h.start(alice, "k", 900_KiB));
  h.pass(grant.time_allowed + std::chrono::seconds(1));
  EXPECT_EQ(h.status().unfinished_puts, 0u);
  EXPECT_GT(h.status().quarantined, 900_KiB);
  EXPECT_EQ(h.error(h.end(alice, "k", grant.put_id)), ErrorCode::invalid_write);
  const Ticket next = h.start(bob, "k", 900_KiB);
  EXPECT_FALSE(h.answered(next)) << "it waits for the space";
  h.confirm("n0");
  EXPECT_EQ(h.status().quarantined, 0_B);
  EXPECT_GT(h.value<PutGrant>(next).put_id, grant.put_id);
}

TEST_F(PutTest, B1ALostSessionsPutsFailAndAnotherClientCanPutTheKey) {
  h.start(alice, "k");
  h.kept_alive = {bob};
  h.pass(std::chrono::seconds(11));
  const PutGrant grant = h.value<PutGrant>(h.start(bob, "k"));
  EXPECT_TRUE(h.answer(h.end(bob, "k", grant.put_id)).has_value());
}

TEST_F(PutTest, APutThatFindsNoSpaceInTimeFailsWithTheNumbers) {
  h.nodes["n0"].confirms = false;
  h.put(alice, "big", 900_KiB);
  h.remove(alice, "big");
  const Ticket waits = h.start(bob, "k", 900_KiB);
  EXPECT_FALSE(h.answered(waits));
  h.pass(std::chrono::milliseconds(1500));
  EXPECT_EQ(h.error(waits), ErrorCode::no_available_handle);
  EXPECT_EQ(h.answer(waits).error().facts().size, 900_KiB);
}

TEST_F(PutTest, APutThatMeetsAPoolOfUnfinishedPutsWaitsForTheirEnd) {
  const PutGrant first = h.value<PutGrant>(h.start(alice, "a", 900_KiB));
  const Ticket second = h.start(bob, "b", 900_KiB);
  h.tick();
  EXPECT_FALSE(h.answered(second)) << "its space can be evicted as soon as it has ended";
  h.end(alice, "a", first.put_id);
  h.pass(std::chrono::milliseconds(200));  // until eviction tries again
  EXPECT_TRUE(h.answer(second).has_value());
  EXPECT_FALSE(h.readable(alice, "a"));

  const Ticket third = h.start(alice, "c", 900_KiB);
  EXPECT_FALSE(h.answered(third));
  h.pass(std::chrono::milliseconds(1500));
  EXPECT_EQ(h.error(third), ErrorCode::no_available_handle) << "nor longer than a put may wait";
}

TEST_F(PutTest, APutThatWaitsForAnUnfinishedOneGetsItsSpaceWhenThatIsRevoked) {
  const PutGrant first = h.value<PutGrant>(h.start(alice, "a", 900_KiB));
  const Ticket second = h.start(bob, "b", 900_KiB);
  EXPECT_FALSE(h.answered(second));
  h.call(alice, PutRevoke{.items = {{"a", first.put_id}}});
  h.tick();
  EXPECT_TRUE(h.answer(second).has_value());
}

TEST_F(PutTest, APutThatCanNeverFitIsRefusedAtOnce) {
  EXPECT_EQ(h.error(h.start(alice, "k", 2_MiB)), ErrorCode::no_available_handle);
  EXPECT_EQ(h.status().unfinished_puts, 0u);
}

TEST_F(PutTest, BadInputIsRefusedAndChangesNothing) {
  const std::string long_key(1025, 'k');
  EXPECT_EQ(h.error(h.start(alice, "")), ErrorCode::invalid_key);
  EXPECT_EQ(h.error(h.start(alice, long_key)), ErrorCode::invalid_key);
  EXPECT_EQ(h.error(h.start(alice, "k", 0_B)), ErrorCode::invalid_params);
  EXPECT_EQ(h.error(h.start(alice, "k", 65_GiB)), ErrorCode::invalid_params);
  EXPECT_EQ(h.error(h.start(alice, "k", 1_B, false, 0)), ErrorCode::invalid_params);
  EXPECT_EQ(h.error(h.start(alice, "k", 1_B, false, 17)), ErrorCode::invalid_params);
  EXPECT_EQ(h.status().unfinished_puts, 0u);
  EXPECT_EQ(h.status().used, 0_B);
}

TEST_F(PutTest, D13AKeyIsAnyBytesUpToTheMaximum) {
  const std::string key = std::string("a/b@c% \0\xff", 9) + std::string(1015, 'x');
  h.put(alice, key);
  EXPECT_TRUE(h.readable(bob, key));
}

TEST_F(PutTest, B14AValueWhoseNodeHasJustGoneCanBePutAgainAtOnce) {
  h.join({.name = "n1"});
  const PutGrant first = h.put(alice, "k");
  const bool on_n0 = first.replicas[0].segment == h.nodes["n0"].segment;
  const auto& gone = h.nodes[on_n0 ? "n0" : "n1"];
  h.master().node_disconnected(h.now, gone.incarnation, gone.registration);
  const PutGrant second = h.put(bob, "k");
  EXPECT_NE(second.replicas[0].segment, gone.segment) << "nor is it placed there again";
  EXPECT_EQ(h.value<ReplicaList>(h.get(bob, "k")).put_id, second.put_id);
}

TEST_F(PutTest, B2AFailedUpsertLeavesTheOldValueReadable) {
  const PutGrant old = h.put(alice, "k");
  const PutGrant next = h.value<PutGrant>(h.start(alice, "k", 2000_B, true));
  EXPECT_EQ(h.value<ReplicaList>(h.get(bob, "k")).put_id, old.put_id);
  h.call(alice, PutRevoke{.items = {{"k", next.put_id}}});
  EXPECT_EQ(h.value<ReplicaList>(h.get(bob, "k")).put_id, old.put_id);
}

TEST_F(PutTest, AnUpsertIsAnsweredWhenTheOldVersionIsRetired) {
  const PutGrant old = h.put(alice, "k");
  h.nodes["n0"].confirms = false;
  const PutGrant next = h.value<PutGrant>(h.start(alice, "k", 2000_B, true));
  const Ticket ended = h.end(alice, "k", next.put_id);
  EXPECT_FALSE(h.answered(ended));
  EXPECT_EQ(h.value<ReplicaList>(h.get(bob, "k")).put_id, next.put_id);
  ASSERT_EQ(h.nodes["n0"].asked.size(), 1u);
  EXPECT_EQ(h.nodes["n0"].asked.front().put_id, old.put_id);
  h.confirm("n0");
  EXPECT_TRUE(h.answer(ended).has_value());
}

TEST_F(PutTest, ReplicasStandOnDifferentSegmentsAndHostsFirst) {
  h.join({.name = "n1", .host = "n0"});
  h.join({.name = "n2"});
  for (int i = 0; i < 20; ++i) {
    const std::string key = "k" + std::to_string(i);
    const PutGrant grant = h.value<PutGrant>(h.start(alice, key, 1000_B, false, 2));
    ASSERT_EQ(grant.replicas.size(), 2u);
    const SegmentId third = h.nodes["n2"].segment;
    EXPECT_TRUE(grant.replicas[0].segment == third || grant.replicas[1].segment == third)
        << "two replicas on one host while another has room";
  }
  const PutGrant all = h.value<PutGrant>(h.start(alice, "all", 1000_B, false, 16));
  EXPECT_EQ(all.replicas.size(), 3u) << "fewer than asked is told, not refused";
}

TEST_F(PutTest, OnlySealedReplicasOnShownSegmentsCount) {
  h.join({.name = "n1"});
  const PutGrant grant = h.value<PutGrant>(h.start(alice, "k", 1000_B, false, 2));
  EXPECT_TRUE(h.answer(h.end(alice, "k", grant.put_id, 0b10)).has_value());
  const ReplicaList list = h.value<ReplicaList>(h.get(bob, "k"));
  ASSERT_EQ(list.replicas.size(), 1u);
  EXPECT_EQ(list.replicas[0], grant.replicas[1]);
  const PutGrant none = h.value<PutGrant>(h.start(alice, "none", 1000_B, false, 2));
  EXPECT_EQ(h.error(h.end(alice, "none", none.put_id, 0)), ErrorCode::replica_is_gone);
  EXPECT_EQ(h.status().used, 1088_B);
}

TEST_F(PutTest, C9ANewEmptyNodeGetsAtMostThriceItsFairShare) {
  h.checks = false;
  for (int n = 1; n < 8; ++n) h.join({.name = "n" + std::to_string(n)});
  for (int i = 0; i < 6000; ++i) h.put(alice, "old" + std::to_string(i), 1000_B);
  h.join({.name = "new"});
  int on_new = 0;
  for (int i = 0; i < 900; ++i) {
    const PutGrant grant = h.put(alice, "k" + std::to_string(i), 1000_B);
    on_new += grant.replicas[0].segment == h.nodes["new"].segment ? 1 : 0;
  }
  EXPECT_LE(on_new, 300) << "of 900 puts on 9 nodes";
  EXPECT_GE(on_new, 100);
  h.master().check_invariants();
}

TEST_F(PutTest, APutOverAHiddenOrEvictedVersionIsAnsweredAtOnce) {
  h.join({.name = "n1"});
  h.disconnect("n0");
  h.put(alice, "k");
  // Whichever node has it, hide both, then let a new one in.
  h.disconnect("n1");
  h.pass(std::chrono::milliseconds(1500));
  h.join({.name = "n2"});
  EXPECT_FALSE(h.readable(bob, "k"));
  const PutGrant next = h.value<PutGrant>(h.start(alice, "k"));
  EXPECT_TRUE(h.answered(h.end(alice, "k", next.put_id))) << "a plain put takes nothing back";
  const PutGrant upsert = h.value<PutGrant>(h.start(alice, "k", 1000_B, true));
  const Ticket ended = h.end(alice, "k", upsert.put_id);
  EXPECT_FALSE(h.answered(ended)) << "an upsert does, also what is hidden";
  h.pass(std::chrono::seconds(31));
  EXPECT_TRUE(h.answer(ended).has_value()) << "the hidden nodes are lost";
}

TEST_F(PutTest, APutThatWaitsIsAnsweredWhenItsKeyIsRemoved) {
  h.nodes["n0"].confirms = false;
  h.put(alice, "big", 900_KiB);
  h.remove(alice, "big");
  const Ticket waits = h.start(bob, "k", 900_KiB);
  EXPECT_FALSE(h.answered(waits));
  EXPECT_EQ(h.error(h.remove(alice, "k")), ErrorCode::object_not_found);
  EXPECT_EQ(h.error(waits), ErrorCode::cancelled);
}

TEST_F(PutTest, APutThatWaitsIsAnsweredWhenItsTimeIsOverAndAnotherTakesTheKey) {
  h.nodes["n0"].confirms = false;
  h.put(alice, "big", 900_KiB);
  h.remove(alice, "big");
  const Ticket waits = h.start(bob, "k", 900_KiB);
  h.now += std::chrono::seconds(1);  // no tick
  h.start(alice, "k", 1000_B);
  EXPECT_EQ(h.error(waits), ErrorCode::no_available_handle);
}

TEST_F(PutTest, AWaitingPutOfAClosedSessionIsGone) {
  h.nodes["n0"].confirms = false;
  h.put(alice, "big", 900_KiB);
  h.remove(alice, "big");
  h.start(bob, "k", 900_KiB);
  h.call(bob, CloseSession{});
  EXPECT_EQ(h.status().unfinished_puts, 0u);
  h.confirm("n0");
  EXPECT_EQ(h.status().used, 0_B);
}

class PutShareTest : public ::testing::Test {
 protected:
  static MasterConfig config() {
    MasterConfig config = MasterHarness::small_nodes();
    config.client_bytes_min = 256_KiB;
    config.client_share_max = 0;
    return config;
  }
  void SetUp() override {
    h.join();
    h.open(alice);
    h.open(bob);
    h.kept_alive = {alice, bob};
  }
  MasterHarness h{config()};
};

TEST_F(PutShareTest, BeyondItsShareAClientsPutsWaitAndOthersDoNot) {
  const PutGrant first = h.value<PutGrant>(h.start(alice, "a", 200_KiB));
  const Ticket second = h.start(alice, "b", 200_KiB);
  const Ticket third = h.start(alice, "c", 200_KiB);
  EXPECT_FALSE(h.answered(second));
  h.value<PutGrant>(h.start(bob, "d", 200_KiB));
  h.tick();
  EXPECT_FALSE(h.answered(second)) << "there is space, but not for this client";
  h.end(alice, "a", first.put_id);
  h.tick();
  EXPECT_TRUE(h.answer(second).has_value());
  EXPECT_FALSE(h.answered(third));
  h.pass(std::chrono::milliseconds(1500));
  EXPECT_EQ(h.error(third), ErrorCode::no_available_handle);
  EXPECT_NE(h.answer(third).error().message().find("share"), std::string::npos);
}

TEST_F(PutShareTest, AFailedPutCountsUntilItIsRetired) {
  h.nodes["n0"].confirms = false;
  const PutGrant first = h.value<PutGrant>(h.start(alice, "a", 200_KiB));
  h.call(alice, PutRevoke{.items = {{"a", first.put_id}}});
  const Ticket second = h.start(alice, "b", 200_KiB);
  h.tick();
  EXPECT_FALSE(h.answered(second));
  h.confirm("n0");
  h.tick();
  EXPECT_TRUE(h.answer(second).has_value());
}

TEST_F(PutShareTest, PutsOverTheShareEvictNothing) {
  h.put(bob, "old", 200_KiB);
  h.value<PutGrant>(h.start(alice, "a", 200_KiB));
  for (int i = 0; i < 8; ++i) h.start(alice, "b" + std::to_string(i), 200_KiB);
  h.pass(std::chrono::milliseconds(900));
  EXPECT_TRUE(h.readable(bob, "old"));
  EXPECT_EQ(h.status().evicted_objects, 0u);
}

}  // namespace
}  // namespace larder::testing
