#include "tests/unit/core/master/harness.h"

namespace larder::testing {
namespace {

using namespace std::chrono_literals;

class NodesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    h.join();
    h.open(alice);
    h.open(bob);
    h.kept_alive = {alice, bob};
  }
  MasterHarness::FakeNode& node(const std::string& name = "n0") { return h.nodes[name]; }
  Ticket heartbeat(const std::string& name = "n0") {
    return h.send({.body = Heartbeat{.incarnation = node(name).incarnation,
                                     .registration = node(name).registration}});
  }
  MasterHarness h;
};

TEST_F(NodesTest, ANodeIsShownWhenItsReportIsComplete) {
  h.register_node({.name = "n1"});
  EXPECT_EQ(h.node_state("n1"), "reporting");
  EXPECT_EQ(h.status().capacity, 1_MiB);
  h.report("n1", {});
  EXPECT_EQ(h.node_state("n1"), "shown");
  EXPECT_EQ(h.status().capacity, 2_MiB);
  EXPECT_EQ(node("n1").taken_reports, 1);
}

TEST_F(NodesTest, ANodeOfMoreBytesThanAPoolCanCountIsRefused) {
  for (const std::uint64_t size :
       {(256_TiB).value + 1, ~std::uint64_t{0}, ~std::uint64_t{0} - (12_MiB).value}) {
    const Ticket ticket = h.register_node({.name = "n1", .size = Bytes{size}});
    EXPECT_EQ(h.error(ticket), ErrorCode::invalid_params) << size;
  }
  const Ticket sum = h.send({.body = RegisterNode{.incarnation = {8, 8},
                                                  .registration = 1,
                                                  .name = "n1",
                                                  .endpoint = "n1",
                                                  .host = "n1",
                                                  .segments = {{.id = {8, 1}, .size = 200_TiB},
                                                               {.id = {8, 2}, .size = 57_TiB}}}});
  EXPECT_EQ(h.error(sum), ErrorCode::invalid_params);
  EXPECT_EQ(h.status().capacity, 1_MiB);
}

TEST_F(NodesTest, ANameThatIsNoTextIsRefused) {
  for (const char* name : {"", "\x1b[31mred", "\xff", "a\nb"}) {
    const Ticket ticket = h.send({.body = RegisterNode{.incarnation = {8, 8},
                                                       .registration = 1,
                                                       .name = name,
                                                       .endpoint = "n1",
                                                       .host = "n1"}});
    EXPECT_EQ(h.error(ticket), ErrorCode::invalid_params) << name;
  }
}

TEST_F(NodesTest, B14ASilentNodeIsHiddenAfterFiveSeconds) {
  h.put(alice, "k");
  node().beating = false;
  h.pass(5s - 1ns);
  EXPECT_TRUE(h.readable(bob, "k"));
  h.pass(1ns);
  EXPECT_FALSE(h.readable(bob, "k"));
  EXPECT_EQ(h.error(h.get(bob, "k")), ErrorCode::object_not_found);
  EXPECT_EQ(h.node_state("n0"), "hidden");
}

TEST_F(NodesTest, B14ADisconnectedNodeIsHiddenAfterOneSecondUnlessItIsHeard) {
  h.put(alice, "k");
  h.disconnect("n0");
  h.pass(1s - 1ns);
  EXPECT_TRUE(h.readable(bob, "k"));
  h.beat("n0");
  h.pass(2s);
  EXPECT_TRUE(h.readable(bob, "k"));
  h.disconnect("n0");
  h.pass(1s);
  EXPECT_FALSE(h.readable(bob, "k"));
}

TEST_F(NodesTest, B17ANodeThatEndsIsGoneAtOnceAndNobodyWaitsForIt) {
  h.put(alice, "k");
  h.put(alice, "j");
  node().confirms = false;
  const Ticket removal = h.remove(alice, "j");
  EXPECT_FALSE(h.answered(removal));
  const IncarnationId ended = node().incarnation;
  const auto unregister = [&] {
    return h.send({.body = UnregisterNode{.incarnation = ended, .registration = 1}});
  };
  EXPECT_TRUE(h.answer(unregister()).has_value());
  EXPECT_FALSE(h.readable(bob, "k"));
  EXPECT_TRUE(h.answer(removal).has_value()) << "there is nothing left to retire";
  EXPECT_EQ(std::get<NodeLost>(h.records.back()).incarnation, ended);
  EXPECT_EQ(h.error(unregister()), ErrorCode::node_lost);
  node().beating = false;
  h.tick();
  EXPECT_EQ(h.node_state("n0"), "none");
  h.join({.incarnation = {9, 9}});
  h.put(alice, "k");
  EXPECT_TRUE(h.readable(bob, "k"));
}

TEST_F(NodesTest, TheEndOfAnOlderConnectionHidesNobody) {
  h.put(alice, "k");
  const std::uint64_t old = node().registration;
  h.join();
  h.master().node_disconnected(h.now, node().incarnation, old);
  h.pass(3s);
  EXPECT_EQ(h.node_state("n0"), "shown");
}

TEST_F(NodesTest, B21ANodeCutOffForFifteenSecondsComesBackLessWhatWasRemoved) {
  h.put(alice, "kept");
  const PutGrant gone = h.put(alice, "gone");
  node().confirms = false;
  node().beating = false;
  h.pass(15s);
  const Ticket removed = h.remove(alice, "gone");
  EXPECT_FALSE(h.answered(removed)) << "its node has not retired it";
  node().asked.clear();  // nothing reached it
  h.beat("n0");
  EXPECT_FALSE(h.readable(bob, "kept")) << "not before what was removed is retired";
  ASSERT_EQ(node().asked.size(), 1u);
  EXPECT_EQ(node().asked[0].put_id, gone.put_id);
  h.confirm("n0");
  EXPECT_TRUE(h.answer(removed).has_value());
  EXPECT_TRUE(h.readable(bob, "kept"));
  EXPECT_FALSE(h.readable(bob, "gone"));
}

TEST_F(NodesTest, AHiddenNodeDoesNotBlockAPutAndTheNewerVersionStays) {
  const PutGrant old = h.put(alice, "k");
  h.join({.name = "n1"});
  h.disconnect("n0");
  h.pass(1s);
  const PutGrant next = h.put(bob, "k");
  EXPECT_GT(next.put_id, old.put_id);
  EXPECT_NE(next.replicas[0].segment, node().segment);
  h.beat("n0");
  h.pass(1s);
  EXPECT_EQ(h.node_state("n0"), "shown");
  EXPECT_EQ(h.value<ReplicaList>(h.get(bob, "k")).put_id, next.put_id);
}

TEST_F(NodesTest, AReplicaOnAHiddenNodeIsNotAnsweredWhileAnotherIs) {
  h.join({.name = "n1"});
  const PutGrant grant = h.value<PutGrant>(h.start(alice, "k", 1000_B, false, 2));
  h.end(alice, "k", grant.put_id, 0b11);
  h.disconnect("n0");
  h.pass(1s);
  const ReplicaList list = h.value<ReplicaList>(h.get(bob, "k"));
  ASSERT_EQ(list.replicas.size(), 1u);
  EXPECT_EQ(list.replicas[0].segment, node("n1").segment);
}

TEST_F(NodesTest, APutIsNotPublishedWithAReplicaOnAHiddenNode) {
  const PutGrant grant = h.value<PutGrant>(h.start(alice, "k"));
  h.disconnect("n0");
  h.pass(1s);
  EXPECT_EQ(h.error(h.end(alice, "k", grant.put_id)), ErrorCode::replica_is_gone);
  EXPECT_EQ(h.status().unfinished_puts, 0u);
}

TEST_F(NodesTest, ANodeSilentForThirtySecondsIsLostWithWhatOnlyItHad) {
  h.join({.name = "n1"});
  const PutGrant both = h.value<PutGrant>(h.start(alice, "both", 1000_B, false, 2));
  h.end(alice, "both", both.put_id, 0b11);
  PutGrant lone;
  int n = 0;
  do {
    lone = h.put(alice, "lone" + std::to_string(++n));
  } while (lone.replicas[0].segment != node().segment);
  const std::string key = "lone" + std::to_string(n);
  node().beating = false;
  h.pass(30s - 1ns);
  EXPECT_EQ(h.node_state("n0"), "hidden");
  h.pass(1ns);
  EXPECT_EQ(h.node_state("n0"), "none");
  EXPECT_FALSE(h.readable(bob, key));
  EXPECT_EQ(h.value<ReplicaList>(h.get(bob, "both")).replicas.size(), 1u);
  EXPECT_EQ(h.status().capacity, 1_MiB);
  h.put(alice, key);
  ASSERT_FALSE(h.records.empty());
  EXPECT_EQ(std::get<NodeLost>(h.records.back()).incarnation, node().incarnation);
}

TEST_F(NodesTest, ALostIncarnationNeverComesBack) {
  node().beating = false;
  h.pass(30s);
  EXPECT_EQ(h.error(heartbeat()), ErrorCode::node_lost);
  EXPECT_EQ(h.error(h.register_node({})), ErrorCode::node_lost);
  EXPECT_EQ(h.error(h.report("n0", {})), ErrorCode::node_lost);
  h.join({.incarnation = {7, 99}});
  EXPECT_EQ(h.node_state("n0"), "shown");
}

TEST_F(NodesTest, APutWithReplicasOnALostNodeEndsWithTheOthers) {
  h.join({.name = "n1"});
  const PutGrant grant = h.value<PutGrant>(h.start(alice, "k", 1000_B, false, 2));
  const PutGrant slow = h.value<PutGrant>(h.start(alice, "slow", 400_MiB / 1024, false, 2));
  node().beating = false;
  // The put outlives the node only because another one, of the same age, is asked to.
  h.pass(9s);
  EXPECT_TRUE(h.answer(h.end(alice, "k", grant.put_id, 0b11)).has_value());
  EXPECT_EQ(h.value<ReplicaList>(h.get(bob, "k")).replicas.size(), 1u);
  h.join({.name = "n0", .incarnation = {7, 99}});  // its host restarted: the old life is over
  EXPECT_TRUE(h.answer(h.end(alice, "slow", slow.put_id, 0b11)).has_value());
  EXPECT_EQ(h.value<ReplicaList>(h.get(bob, "slow")).replicas.size(), 1u);
}

TEST_F(NodesTest, APutWhoseOnlyReplicaIsLostFailsAndItsSpaceIsNobodys) {
  const PutGrant grant = h.value<PutGrant>(h.start(alice, "k"));
  h.disconnect("n0");
  h.join({.name = "n0", .incarnation = {7, 99}});
  h.tick();
  EXPECT_EQ(h.error(h.end(alice, "k", grant.put_id)), ErrorCode::replica_is_gone);
  EXPECT_EQ(h.status().used, 0_B);
  EXPECT_EQ(h.status().quarantined, 0_B);
  h.put(alice, "k");
}

TEST_F(NodesTest, TwoLivingNodesOfOneNameAreAnErrorThatSaysSo) {
  const Ticket second = h.send({.body = RegisterNode{.incarnation = {8, 8},
                                                     .registration = 1,
                                                     .name = "n0",
                                                     .endpoint = "elsewhere:1",
                                                     .host = "x"}});
  EXPECT_EQ(h.error(second), ErrorCode::segment_already_exists);
  EXPECT_NE(h.answer(second).error().message().find("'n0'"), std::string::npos);
  EXPECT_EQ(h.node_state("n0"), "shown");
}

TEST_F(NodesTest, ARestartedNodeTakesThePlaceOfItsOldLifeAtOnce) {
  h.put(alice, "k");
  h.disconnect("n0");
  const IncarnationId old = node().incarnation;
  h.join({.incarnation = {7, 99}});
  EXPECT_FALSE(h.readable(bob, "k"));
  h.tick();
  EXPECT_EQ(h.status().objects, 0u);
  EXPECT_EQ(h.status().capacity, 1_MiB);
  EXPECT_EQ(h.error(h.send({.body = Heartbeat{.incarnation = old, .registration = 1}})),
            ErrorCode::node_lost);
}

TEST_F(NodesTest, AnOlderRegistrationIsRefused) {
  const std::uint64_t old = node().registration;
  h.join();
  const auto refused = [&](RequestBody body) { return h.error(h.send({.body = std::move(body)})); };
  const IncarnationId id = node().incarnation;
  EXPECT_EQ(refused(Heartbeat{.incarnation = id, .registration = old}),
            ErrorCode::client_not_found);
  EXPECT_EQ(refused(ReportInventory{.incarnation = id, .registration = old, .last = true}),
            ErrorCode::client_not_found);
  EXPECT_EQ(refused(ConfirmRetirement{.incarnation = id, .registration = old}),
            ErrorCode::client_not_found);
  EXPECT_EQ(refused(ReportCorrupt{.incarnation = id, .registration = old}),
            ErrorCode::client_not_found);
  EXPECT_EQ(
      refused(RegisterNode{
          .incarnation = id, .registration = old, .name = "n0", .endpoint = "n0:1", .host = "n0"}),
      ErrorCode::invalid_params);
  h.tick();
  EXPECT_EQ(h.node_state("n0"), "shown");
}

TEST_F(NodesTest, BadRegistrationsAreRefusedAndChangeNothing) {
  const RegisterNode good{.incarnation = {8, 8},
                          .registration = 1,
                          .name = "n1",
                          .endpoint = "n1:1",
                          .host = "n1",
                          .segments = {{.id = {5, 5}, .name = "s", .size = 1_MiB}}};
  const std::string long_name(257, 'n');
  const auto refused = [&](auto change) {
    RegisterNode bad = good;
    change(bad);
    const Ticket ticket = h.send({.body = bad});
    EXPECT_EQ(h.status().nodes.size(), 1u);
    return h.error(ticket);
  };
  EXPECT_EQ(refused([](RegisterNode& r) { r.incarnation = {}; }), ErrorCode::invalid_params);
  EXPECT_EQ(refused([](RegisterNode& r) { r.name = ""; }), ErrorCode::invalid_params);
  EXPECT_EQ(refused([&](RegisterNode& r) { r.host = long_name; }), ErrorCode::invalid_params);
  EXPECT_EQ(refused([](RegisterNode& r) { r.segments[0].id = {}; }), ErrorCode::invalid_params);
  EXPECT_EQ(refused([](RegisterNode& r) { r.segments[0].size = 0_B; }), ErrorCode::invalid_params);
  EXPECT_EQ(refused([&](RegisterNode& r) { r.segments[0].id = node().segment; }),
            ErrorCode::segment_already_exists);
  EXPECT_TRUE(h.answer(h.send({.body = good})).has_value());
}

TEST_F(NodesTest, B22ANodeThatNeverConfirmsIsSickThenLostAndItsSpaceIsNobodys) {
  h.join({.name = "n1"});
  PutGrant grant;
  int n = 0;
  do {
    grant = h.put(alice, "k" + std::to_string(++n));
  } while (grant.replicas[0].segment != node().segment);
  node().confirms = false;
  const Ticket removed = h.remove(alice, "k" + std::to_string(n));
  h.pass(4s);
  EXPECT_EQ(h.node_state("n0"), "shown");
  EXPECT_EQ(h.status().oldest_quarantine_holder, "n0");
  EXPECT_EQ(h.status().oldest_quarantine, 4s);
  h.pass(2s);
  EXPECT_EQ(h.node_state("n0"), "sick");
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(h.put(bob, "new" + std::to_string(i)).replicas[0].segment, node("n1").segment);
  }
  EXPECT_EQ(h.status().evicted_objects, 0u);
  EXPECT_FALSE(h.answered(removed));
  h.pass(25s);
  EXPECT_TRUE(h.answer(removed).has_value());
  EXPECT_EQ(h.node_state("n0"), "none");
  EXPECT_EQ(h.status().quarantined, 0_B);
}

TEST_F(NodesTest, B22ASickNodeThatConfirmsIsWellAgain) {
  node().confirms = false;
  h.put(alice, "k");
  h.remove(alice, "k");
  h.pass(6s);
  EXPECT_EQ(h.node_state("n0"), "sick");
  h.confirm("n0");
  h.pass(1s);
  EXPECT_EQ(h.node_state("n0"), "shown");
  h.pass(30s);
  EXPECT_EQ(h.node_state("n0"), "shown");
}

TEST_F(NodesTest, ANodeThatWaitsForAReaderSaysSoAndIsNotSick) {
  node().confirms = false;
  h.put(alice, "k");
  h.remove(alice, "k");
  for (int i = 0; i < 8; ++i) {
    h.send({.body = ConfirmRetirement{.incarnation = node().incarnation,
                                      .registration = node().registration,
                                      .held = {{node().asked.front(), 1h}}}});
    h.pass(1s);
  }
  EXPECT_EQ(h.node_state("n0"), "shown");
  h.pass(10s);
  EXPECT_EQ(h.node_state("n0"), "sick") << "no longer than the limit of a view";
}

TEST_F(NodesTest, ANodeThatReportsAgainKeepsWhatItHasAndLosesWhatItHasNot) {
  const PutGrant kept = h.put(alice, "kept");
  h.put(alice, "gone");
  h.register_node({});
  EXPECT_FALSE(h.readable(bob, "kept")) << "not before the report is complete";
  h.report("n0", {h.sealed("n0", "kept", kept.put_id, kept.replicas[0].offset)});
  h.tick();
  EXPECT_TRUE(h.readable(bob, "kept"));
  EXPECT_FALSE(h.readable(bob, "gone"));
  EXPECT_EQ(h.status().used, 1088_B);
}

TEST_F(NodesTest, ASweepForADepartedNodeDoesNotTouchTheOneInItsPlace) {
  const PutGrant old = h.put(alice, "old");
  h.register_node({});
  h.report("n0", {h.sealed("n0", "old", old.put_id, old.replicas[0].offset)});
  // Its sweep is due. Now it dies, and another node gets its place and registers as often.
  h.disconnect("n0");
  h.register_node({.incarnation = {7, 99}});  // loses the old life
  h.report("n0", {});
  h.tick();
  const PutGrant fresh = h.put(alice, "fresh");
  h.register_node({.incarnation = {7, 99}});
  h.tick();
  h.report("n0", {h.sealed("n0", "fresh", fresh.put_id, fresh.replicas[0].offset)});
  h.tick();
  EXPECT_TRUE(h.readable(bob, "fresh"));
}

TEST_F(NodesTest, ABusyOrLateNodeIsPassedOverWhileAnotherFits) {
  h.join({.name = "n1"});
  h.send({.body = Heartbeat{.incarnation = node().incarnation,
                            .registration = node().registration,
                            .fill_queue = 600ms}});
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(h.put(alice, "a" + std::to_string(i)).replicas[0].segment, node("n1").segment);
  }
  h.beat("n0");
  node("n1").beating = false;
  h.pass(2500ms);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(h.put(alice, "b" + std::to_string(i)).replicas[0].segment, node("n0").segment);
  }
  const PutGrant both = h.value<PutGrant>(h.start(alice, "c", 1000_B, false, 2));
  EXPECT_EQ(both.replicas.size(), 2u) << "better late than not at all";
}

TEST_F(NodesTest, AvoidedSegmentsAreNotUsedAndPreferredOnesFirst) {
  h.join({.name = "n1"});
  for (int i = 0; i < 10; ++i) {
    const std::string key = "k" + std::to_string(i);
    const Ticket preferred = h.call(
        alice, PutStart{.items = {{.key = key, .size = 10_B}}, .preferred = {node("n1").segment}});
    EXPECT_EQ(h.value<PutGrant>(preferred).replicas[0].segment, node("n1").segment);
    const std::string other = "a" + key;
    const Ticket avoided = h.call(alice, PutStart{.items = {{.key = other, .size = 10_B}},
                                                  .preferred = {node("n1").segment},
                                                  .avoid = {node("n1").segment}});
    EXPECT_EQ(h.value<PutGrant>(avoided).replicas[0].segment, node("n0").segment);
  }
}

}  // namespace
}  // namespace larder::testing
