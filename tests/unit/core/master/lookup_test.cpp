#include "core/base/random.h"
#include "tests/unit/core/master/harness.h"

namespace larder::testing {
namespace {

using namespace std::chrono_literals;

class LookupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    h.join();
    h.open(alice);
    h.open(bob);
    h.kept_alive = {alice, bob};
  }
  MasterHarness h;
};

TEST_F(LookupTest, AReaderGetsPutIdSizeChecksumPlaceAndLease) {
  const PutGrant grant = h.value<PutGrant>(h.start(alice, "k", 1234_B));
  h.call(alice,
         PutEnd{.items = {{.key = "k", .put_id = grant.put_id, .sealed = 1, .checksum = 7}}});
  const ReplicaList list = h.value<ReplicaList>(h.get(bob, "k"));
  EXPECT_EQ(list.put_id, grant.put_id);
  EXPECT_EQ(list.size, 1234_B);
  EXPECT_EQ(list.checksum, 7u);
  EXPECT_EQ(list.replicas, grant.replicas);
  EXPECT_EQ(list.lease.duration, 10s);
  h.put(alice, "bare");
  EXPECT_EQ(h.value<ReplicaList>(h.get(bob, "bare")).checksum, std::nullopt);
}

TEST_F(LookupTest, EachItemHasItsOwnAnswerInOrder) {
  h.put(alice, "a");
  h.put(alice, "c");
  const std::string long_key(1025, 'k');
  const Ticket ticket =
      h.call(bob, GetReplicaList{.items = {{"a"}, {"b"}, {"c"}, {long_key}, {""}}});
  EXPECT_TRUE(h.answer(ticket, 0).has_value());
  EXPECT_EQ(h.error(ticket, 1), ErrorCode::object_not_found);
  EXPECT_TRUE(h.answer(ticket, 2).has_value());
  EXPECT_EQ(h.error(ticket, 3), ErrorCode::invalid_key);
  EXPECT_EQ(h.error(ticket, 4), ErrorCode::invalid_key);
}

TEST_F(LookupTest, TenantsDoNotSeeEachOther) {
  h.open({9, 9}, "other");
  h.put(alice, "k");
  EXPECT_FALSE(h.readable({9, 9}, "k"));
  EXPECT_EQ(h.error(h.get({9, 9}, "k")), ErrorCode::object_not_found);
  EXPECT_EQ(h.error(h.remove({9, 9}, "k")), ErrorCode::object_not_found);
  EXPECT_TRUE(h.readable(bob, "k"));
}

TEST_F(LookupTest, AnUnknownSessionIsTold) {
  EXPECT_EQ(h.error(h.get({5, 5}, "k")), ErrorCode::client_not_found);
}

TEST_F(LookupTest, AFullLeaseHoldsUntilItIsGivenBackOrOver) {
  h.put(alice, "k");
  const ReplicaList first = h.value<ReplicaList>(h.get(bob, "k"));
  const ReplicaList second = h.value<ReplicaList>(h.get(bob, "k"));
  EXPECT_EQ(h.error(h.remove(alice, "k")), ErrorCode::object_has_lease);
  h.give_back(bob, first);
  EXPECT_EQ(h.error(h.remove(alice, "k")), ErrorCode::object_has_lease);
  h.give_back(bob, second);
  EXPECT_TRUE(h.answer(h.remove(alice, "k")).has_value());
  h.put(alice, "k");
  h.get(bob, "k");
  h.pass(10s - 1ns);
  EXPECT_EQ(h.error(h.remove(alice, "k")), ErrorCode::object_has_lease);
  h.pass(1ns);
  EXPECT_TRUE(h.answer(h.remove(alice, "k")).has_value());
}

TEST_F(LookupTest, ALateOrDoubledGiveBackEndsNoOtherLease) {
  h.put(alice, "k");
  const ReplicaList first = h.value<ReplicaList>(h.get(bob, "k"));
  h.give_back(bob, first);
  h.get(alice, "k");
  h.give_back(bob, first);
  EXPECT_EQ(h.error(h.remove(alice, "k")), ErrorCode::object_has_lease);
}

TEST_F(LookupTest, B9AbandonedReadsLeaveNothingBehind) {
  h.put(alice, "k");
  for (int i = 0; i < 100; ++i) h.get(bob, "k");
  h.pass(10s);
  const ReplicaList list = h.value<ReplicaList>(h.get(bob, "k"));
  h.give_back(bob, list);
  EXPECT_TRUE(h.answer(h.remove(alice, "k")).has_value());
}

// Whatever readers do with their leases: give them back, once, twice, late or never.
TEST_F(LookupTest, B9AMillionRandomReadsLeaveNoLeaseOver) {
  constexpr std::uint64_t keys = 500;
  constexpr int rounds = 1000;
  constexpr int reads_of_a_round = 1000;
  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < keys; ++i) names.push_back("key" + std::to_string(i));
  for (const std::string& name : names) h.put(alice, name, 64_B);
  h.checks = false;  // a full walk for each of them
  Random choices(7);
  std::vector<LeaseReturn> late;
  for (int round = 0; round < rounds; ++round) {
    GetReplicaList wanted;
    for (int i = 0; i < reads_of_a_round; ++i) {
      wanted.items.push_back({names[choices.below(keys)]});
    }
    const Ticket reads = h.call(bob, std::move(wanted));
    KeepAlive none;
    Request returns{.header = {.session = bob}, .body = none};
    returns.header.lease_returns = std::move(late);
    late.clear();
    for (std::uint32_t i = 0; i < reads_of_a_round; ++i) {
      const ReplicaList list = h.value<ReplicaList>(reads, i);
      const LeaseReturn back{list.lease.slot, list.lease.round, list.put_id};
      switch (choices.below(4)) {
        case 0:
          break;  // abandoned
        case 1:
          returns.header.lease_returns.push_back(back);
          break;
        case 2:
          returns.header.lease_returns.insert(returns.header.lease_returns.end(), 2, back);
          break;
        default:
          late.push_back(back);
      }
    }
    h.send(std::move(returns));
    h.forget_answers();
    if (round % 100 == 99) h.pass(3s);  // some leases run out
  }
  h.checks = true;
  h.pass(MasterConfig().timing.lease);
  for (const std::string& name : names) {
    EXPECT_TRUE(h.answer(h.remove(alice, name)).has_value()) << name << " is still leased";
  }
  EXPECT_EQ(h.status().used, 0_B);
  EXPECT_EQ(h.status().quarantined, 0_B);
}

TEST_F(LookupTest, ALeaseOutlivesTheSessionOfItsReader) {
  h.put(alice, "k");
  h.get(bob, "k");
  h.call(bob, CloseSession{});
  EXPECT_EQ(h.error(h.remove(alice, "k")), ErrorCode::object_has_lease) << "it may be reading yet";
}

TEST_F(LookupTest, ALeaseOfAnEarlierMasterGivenBackHereIsIgnored) {
  h.put(alice, "k");
  const ReplicaList old = h.value<ReplicaList>(h.get(bob, "k"));
  h.restart({101}, {});
  h.join({.taken = {100}}, {h.sealed("n0", "k", old.put_id)});
  h.open(alice);
  h.open(bob);
  h.pass(10s);  // what is known from before is held so long
  h.get(alice, "k");
  h.give_back(bob, old);
  EXPECT_EQ(h.error(h.remove(alice, "k")), ErrorCode::object_has_lease);
}

TEST_F(LookupTest, ExistsGrantsAShortLeaseAndAnswersTheLongest) {
  h.put(alice, "k");
  const auto exists = [&] { return h.value<Existence>(h.call(bob, Exists{.items = {{"k"}}})); };
  EXPECT_TRUE(exists().exists);
  EXPECT_EQ(exists().lease, 1s);
  EXPECT_EQ(h.error(h.remove(alice, "k")), ErrorCode::object_has_lease);
  h.get(bob, "k");
  EXPECT_EQ(exists().lease, 10s);
  EXPECT_FALSE(h.value<Existence>(h.call(bob, Exists{.items = {{"none"}}})).exists);
  h.pass(10s);
  EXPECT_EQ(exists().lease, 1s);
  h.pass(1s);
  EXPECT_TRUE(h.answer(h.remove(alice, "k")).has_value());
}

TEST_F(LookupTest, ItsTimeToLiveEndsAnObjectAtOnceAndItsSpaceAfterRetirement) {
  ASSERT_TRUE(h.put_item(alice, {.key = "k", .size = 1000_B, .time_to_live = 3s}));
  h.nodes["n0"].confirms = false;
  h.now += 3s - 1ns;
  EXPECT_TRUE(h.readable(bob, "k"));
  h.now += 1ns;  // before any tick
  EXPECT_FALSE(h.readable(bob, "k"));
  EXPECT_EQ(h.error(h.get(bob, "k")), ErrorCode::object_not_found);
  h.tick();
  EXPECT_EQ(h.status().objects, 0u);
  EXPECT_EQ(h.status().quarantined, 1088_B);
  h.confirm("n0");
  EXPECT_EQ(h.status().free, 1_MiB);
}

TEST_F(LookupTest, AnExpiredKeyCanBePutAgainBeforeAnyTick) {
  ASSERT_TRUE(h.put_item(alice, {.key = "k", .size = 1000_B, .time_to_live = 5s}));
  h.now += 5s;
  const PutGrant next = h.put(bob, "k");
  EXPECT_EQ(h.value<ReplicaList>(h.get(bob, "k")).put_id, next.put_id);
  h.tick();
  EXPECT_TRUE(h.readable(bob, "k"));
}

TEST_F(LookupTest, AnExpiredKeyIsRemovedAsNotFound) {
  ASSERT_TRUE(h.put_item(alice, {.key = "k", .size = 1000_B, .time_to_live = 5s}));
  h.now += 5s;
  EXPECT_EQ(h.error(h.remove(alice, "k")), ErrorCode::object_not_found);
}

TEST_F(LookupTest, SegmentsAreDescribedAndUnknownOnesNamed) {
  const SegmentId segment = h.nodes["n0"].segment;
  const Ticket ticket = h.call(alice, DescribeSegments{.items = {segment, {4, 4}}});
  const auto description = h.value<SegmentDescription>(ticket, 0);
  EXPECT_EQ(description.id, segment);
  EXPECT_EQ(description.node, "n0");
  EXPECT_EQ(description.endpoint, "n0:1");
  EXPECT_EQ(description.size, 1_MiB);
  EXPECT_EQ(h.error(ticket, 1), ErrorCode::segment_not_found);
}

}  // namespace
}  // namespace larder::testing
