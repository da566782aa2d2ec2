#include "tests/unit/core/client/client_fixture.h"

namespace larder {
namespace {

using fakes::segment;

class Put : public ClientTest {};

TEST_F(Put, StoresTheSlicesInOrderAndPublishesEveryReplica) {
  master.places = {1, 2, 3};
  const std::array slices{bytes_of("abc"), bytes_of(""), bytes_of("de")};
  const PutItem item{.key = "k", .value = slices, .replicas = 3};
  const auto outcome = run(client->put({&item, 1}, {}, world.now() + within)).at(0);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->replicas, 3u);
  EXPECT_FALSE(outcome->already_stored);
  const auto& object = master.objects.at("k");
  EXPECT_EQ(object.put_id, outcome->put_id);
  ASSERT_EQ(object.replicas.size(), 3u);
  for (const auto& replica : object.replicas) EXPECT_EQ(nodes.stored(replica).bytes, "abcde");
  EXPECT_EQ(object.checksum, checksum(bytes_of("abcde")));
}

TEST_F(Put, MakesOnePassForTheChecksumHoweverManyReplicas) {
  master.places = {1, 2};
  ASSERT_TRUE(put({.key = "k", .replicas = 2}, "value"));
  EXPECT_EQ(client->counters().checksum_passes, 1u);
}

TEST_F(Put, A15MakesNoPassWithChecksumsOff) {
  renew({.checksum = false});
  ASSERT_TRUE(put("k", "value"));
  EXPECT_EQ(client->counters().checksum_passes, 0u);
  EXPECT_EQ(master.objects.at("k").checksum, std::nullopt);
}

TEST_F(Put, CarriesTheRecordToTheNodeAndTheOptionsToTheMaster) {
  const SegmentId preferred = segment(1).id;
  ASSERT_TRUE(put({.key = "k",
                   .group = "g",
                   .parent = "p",
                   .soft_pin = seconds(1),
                   .time_to_live = seconds(2),
                   .hard_pin = true},
                  "value", {.upsert = true, .preferred = {&preferred, 1}}));
  const PutStart& start = master.last<PutStart>();
  EXPECT_TRUE(start.upsert);
  EXPECT_EQ(start.preferred, std::vector{preferred});
  EXPECT_EQ(start.items.at(0).group, "g");
  EXPECT_EQ(start.items.at(0).parent, "p");
  EXPECT_EQ(start.items.at(0).soft_pin, seconds(1));
  EXPECT_EQ(start.items.at(0).time_to_live, seconds(2));
  EXPECT_TRUE(start.items.at(0).hard_pin);
}

TEST_F(Put, A11OfAKeyThatExistsIsToldFromAFreshOneAndMovesNothing) {
  ASSERT_TRUE(put("k", "old"));
  const auto outcome = put("k", "new");
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->already_stored);
  EXPECT_EQ(outcome->replicas, 0u);
  EXPECT_EQ(nodes.node(1).transfers, 1u);
  EXPECT_EQ(client->counters().checksum_passes, 1u);
}

TEST_F(Put, OfAKeyInFlightIsAnErrorSinceNothingIsStored) {
  master.refuse("PutStart", ErrorCode::put_in_flight);
  EXPECT_EQ(code_of(put("k", "value")), ErrorCode::put_in_flight);
  EXPECT_EQ(master.count("PutStart"), 1u);
}

TEST_F(Put, D15OneResultForEachItemWhateverBecomesOfTheOthers) {
  ASSERT_TRUE(put("there", "value"));
  const ConstSlice value = bytes_of("value");
  const std::array items{PutItem{.key = "", .value = {&value, 1}},
                         PutItem{.key = "there", .value = {&value, 1}}, PutItem{.key = "empty"},
                         PutItem{.key = "new", .value = {&value, 1}}};
  const auto outcomes = run(client->put(items, {}, world.now() + within));
  EXPECT_EQ(code_of(outcomes.at(0)), ErrorCode::invalid_key);
  EXPECT_TRUE(outcomes.at(1)->already_stored);
  EXPECT_EQ(code_of(outcomes.at(2)), ErrorCode::invalid_params);
  EXPECT_EQ(outcomes.at(3)->replicas, 1u);
}

TEST_F(Put, RefusesBadItemsBeforeAnyInputOrOutput) {
  const std::string long_name(key_bytes_max + 1, 'n');
  // Never read: the size is refused first.
  const ConstSlice huge(reinterpret_cast<const std::byte*>(this),
                        object_bytes_max_default.value + 1);
  const ConstSlice value = bytes_of("value");
  const std::array items{
      PutItem{.key = long_name, .value = {&value, 1}},
      PutItem{.key = "k"},
      PutItem{.key = "k", .value = {&huge, 1}},
      PutItem{.key = "k", .value = {&value, 1}, .replicas = 0},
      PutItem{.key = "k", .value = {&value, 1}, .replicas = 17},
      PutItem{.key = "k", .value = {&value, 1}, .group = long_name},
      PutItem{.key = "k", .value = {&value, 1}, .parent = long_name},
      PutItem{.key = "k", .value = {&value, 1}, .time_to_live = -seconds(1)},
  };
  const auto outcomes = run(client->put(items, {}, world.now() + within));
  EXPECT_EQ(code_of(outcomes.at(0)), ErrorCode::invalid_key);
  for (std::size_t i = 1; i < outcomes.size(); ++i) {
    EXPECT_EQ(code_of(outcomes[i]), ErrorCode::invalid_params) << i;
  }
  EXPECT_NE(outcomes.at(2).error().message().find("68719476737"), std::string::npos);
  EXPECT_TRUE(run(client->put({}, {}, world.now() + within)).empty());
  EXPECT_EQ(client->counters().master_calls, 0u);
  EXPECT_EQ(client->counters().transfers, 0u);
}

TEST_F(Put, A10ChecksSizesAgainstTheMastersLimitOnceItIsKnown) {
  ASSERT_TRUE(put("a", "1"));
  const ConstSlice big(reinterpret_cast<const std::byte*>(this), (1_GiB).value + 1);
  const PutItem item{.key = "k", .value = {&big, 1}};
  EXPECT_EQ(code_of(run(client->put({&item, 1}, {}, world.now() + within)).at(0)),
            ErrorCode::invalid_params);
}

TEST_F(Put, IsFilledInPartsThatTheTransportCanCarryAndOnlyTheLastSeals) {
  nodes.traits_to_set().transfer_bytes_max = 4_B;
  const std::array slices{bytes_of("abc"), bytes_of("defgh"), bytes_of("i")};
  const PutItem item{.key = "k", .value = slices};
  ASSERT_TRUE(run(client->put({&item, 1}, {}, world.now() + within)).at(0));
  EXPECT_EQ(nodes.stored(master.objects.at("k").replicas.at(0)).bytes, "abcdefghi");
  EXPECT_EQ(nodes.ranges, 3u);
  EXPECT_EQ(nodes.node(1).transfers, 1u);
}

TEST_F(Put, EndsWithTheReplicasThatWereSealed) {
  master.places = {1, 2, 3};
  nodes.node(2).refuse = ErrorCode::busy;
  const auto outcome = put({.key = "k", .replicas = 3}, "value");
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->replicas, 2u);
  EXPECT_EQ(master.last<PutEnd>().items.at(0).sealed, 0b101u);
  EXPECT_EQ(master.count("PutRevoke"), 0u);
}

TEST_F(Put, FillsAllNodesAtTheSameTime) {
  master.places = {1, 2, 3};
  ASSERT_TRUE(put("warm", "value"));
  for (std::uint64_t i : {1u, 2u, 3u}) nodes.node(i).delay = milliseconds(100);
  const Time before = world.now();
  ASSERT_TRUE(put({.key = "k", .replicas = 3}, "value"));
  EXPECT_LT(world.now() - before, milliseconds(110));
}

TEST_F(Put, WithNoneSealedIsRevokedAndStartsOnceMoreElsewhere) {
  master.places = {1, 2};
  nodes.node(1).refuse = ErrorCode::busy;
  const auto outcome = put("k", "value");
  ASSERT_TRUE(outcome);
  const auto revokes = master.requests("PutRevoke");
  ASSERT_EQ(revokes.size(), 1u);
  EXPECT_EQ(std::get<PutRevoke>(revokes[0]->body).items.at(0).put_id, (PutId{{5}, 1}));
  EXPECT_EQ(master.last<PutStart>().avoid, std::vector{segment(1).id});
  EXPECT_EQ(outcome->put_id, (PutId{{5}, 2}));
  EXPECT_EQ(client->counters().checksum_passes, 1u);
}

TEST_F(Put, DoesNotWaitForTheAnswerToARevoke) {
  master.places = {1, 2};
  nodes.node(1).refuse = ErrorCode::busy;
  master.says["PutRevoke"].push_back([](const Request&) { return std::nullopt; });
  const Time before = world.now();
  ASSERT_TRUE(put("k", "value"));
  EXPECT_LT(world.now() - before, milliseconds(20));
}

TEST_F(Put, AStoppedNodeLeavesTimeToStartElsewhereInTheSameDeadline) {
  master.places = {1, 2};
  nodes.node(1).dead = true;
  const Time before = world.now();
  ASSERT_TRUE(put("k", "value"));
  EXPECT_LE(world.now(), before + within);
}

TEST_F(Put, AStoppedNodeLeavesTimeToPublishTheReplicasOfTheOthers) {
  master.places = {1, 2};
  nodes.node(1).dead = true;
  const auto outcome = put({.key = "k", .replicas = 2}, "value");
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->replicas, 1u);
}

TEST_F(Put, ToNodesThatDoNotAnswerIsTransferFailWithTheEndpoint) {
  master.places = {1};
  nodes.node(1).dead = true;
  const auto outcome = put("k", "value");
  EXPECT_EQ(code_of(outcome), ErrorCode::transfer_fail);
  EXPECT_EQ(outcome.error().facts().endpoint, segment(1).endpoint);
  EXPECT_EQ(outcome.error().facts().size, 5_B);
  EXPECT_GT(outcome.error().facts().elapsed, Duration(0));
  EXPECT_FALSE(master.objects.contains("k"));
}

TEST_F(Put, WithoutSpaceIsNoAvailableHandle) {
  master.places = {};
  EXPECT_EQ(code_of(put("k", "value")), ErrorCode::no_available_handle);
}

TEST_F(Put, RespectsTheTimeThatTheMasterAllowedCountedFromBeforeItAsked) {
  master.time_allowed = milliseconds(100);
  const Time before = world.now();
  ASSERT_TRUE(put("k", "value"));
  EXPECT_LE(nodes.last_deadline, before + master.latency + milliseconds(100));
}

TEST_F(Put, GivesUpAfterAFewNodesThatAllRefuse) {
  master.places = {1, 2, 3, 4, 5, 6, 7, 8};
  for (std::uint64_t i = 1; i <= 8; ++i) nodes.node(i).refuse = ErrorCode::fill_refused;
  EXPECT_EQ(code_of(put("k", "value")), ErrorCode::fill_refused);
  EXPECT_EQ(master.count("PutStart"), 4u);
}

TEST_F(Put, ItsOwnPutInFlightIsWaitedOutAfterARevoke) {
  master.places = {1, 2};
  nodes.node(1).refuse = ErrorCode::busy;
  master.say("PutStart", [&](const Request& request) { return master.usual(request); });
  for (int i = 0; i < 3; ++i) master.refuse("PutStart", ErrorCode::put_in_flight);
  EXPECT_TRUE(put("k", "value"));
  EXPECT_EQ(master.count("PutStart"), 5u);
}

TEST_F(Put, ItsOwnPutInFlightForEverEndsInTimeWithTheFirstCause) {
  master.places = {1, 2};
  nodes.node(1).refuse = ErrorCode::busy;
  master.say("PutStart", [&](const Request& request) { return master.usual(request); });
  for (int i = 0; i < 1000; ++i) master.refuse("PutStart", ErrorCode::put_in_flight);
  const Time before = world.now();
  EXPECT_EQ(code_of(put("k", "value")), ErrorCode::busy);
  EXPECT_LE(world.now(), before + within);
}

TEST_F(Put, B14ADeadEndpointIsNotTriedAgainWithinASecond) {
  master.places = {1};
  nodes.node(1).dead = true;
  within = milliseconds(200);
  EXPECT_FALSE(put("k", "value"));
  EXPECT_EQ(nodes.node(1).transfers, 1u);
  const auto outcome = put("k2", "value");
  EXPECT_EQ(code_of(outcome), ErrorCode::transfer_fail);
  EXPECT_EQ(nodes.node(1).transfers, 1u);
  world.pass(seconds(1));
  nodes.node(1).dead = false;
  EXPECT_TRUE(put("k3", "value"));
}

TEST_F(Put, D15OfWhichTheEndIsRefusedIsNotReportedAsStored) {
  master.refuse("PutEnd", ErrorCode::invalid_write);
  EXPECT_EQ(code_of(put("k", "value")), ErrorCode::invalid_write);
  EXPECT_EQ(master.count("PutStart"), 1u);
}

TEST_F(Put, OfWhichTheEndGetsNoAnswerEndsInTime) {
  master.says["PutEnd"].push_back([](const Request&) { return std::nullopt; });
  const Time before = world.now();
  EXPECT_EQ(code_of(put("k", "value")), ErrorCode::rpc_timeout);
  EXPECT_LE(world.now(), before + within + within / 10);
}

TEST_F(Put, SealedUnderAMasterThatIsReplacedIsPublishedWithTheNewOne) {
  master.say("PutEnd", [&](const Request& request) {
    master.epoch = {6};
    return Reply{master.epoch, std::vector<Answer>(answer_count(request.body),
                                                   failed(ErrorCode::client_not_found))};
  });
  master.refuse("PutEnd", ErrorCode::unavailable_in_current_status);  // it recovers
  const auto outcome = put("k", "value");
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->put_id, (PutId{{5}, 1}));
  EXPECT_EQ(master.count("OpenSession"), 2u);
  EXPECT_EQ(master.count("PutEnd"), 3u);
  EXPECT_EQ(master.count("PutStart"), 1u);
}

TEST_F(Put, ThatTheNewMasterDidNotTakeUpStartsOnceMoreInTheSameDeadline) {
  master.say("PutEnd", [&](const Request& request) {
    master.epoch = {6};
    return Reply{master.epoch, std::vector<Answer>(answer_count(request.body),
                                                   failed(ErrorCode::client_not_found))};
  });
  master.refuse("PutEnd", ErrorCode::invalid_write);
  const auto outcome = put("k", "value");
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->put_id, (PutId{{6}, 2}));
  EXPECT_EQ(client->counters().puts_restarted, 1u);
}

TEST_F(Put, DropsGrantsOfAMasterThatLeadsNoMoreWithoutFillingThem) {
  ASSERT_TRUE(run(client->status(world.now() + within)));
  // The new master shows itself between the grant and the fill.
  master.say("DescribeSegments", [&](const Request& request) {
    master.epoch = {6};
    return master.usual(request);
  });
  const auto outcome = put("k", "value");
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->put_id.epoch, Epoch{6});
  EXPECT_EQ(nodes.node(1).transfers, 1u);
  EXPECT_EQ(master.count("PutRevoke"), 0u);
}

TEST_F(Put, OnASegmentThatTheMasterDoesNotKnowGoesElsewhere) {
  master.places = {1, 2};
  master.refuse("DescribeSegments", ErrorCode::segment_not_found);
  ASSERT_TRUE(put("k", "value"));
  EXPECT_EQ(nodes.node(1).transfers, 0u);
  EXPECT_EQ(nodes.node(2).transfers, 1u);
}

}  // namespace
}  // namespace larder
