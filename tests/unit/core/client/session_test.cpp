#include "tests/unit/core/client/client_fixture.h"

namespace larder {
namespace {

using fakes::segment;

class Session : public ClientTest {};

TEST_F(Session, IsOpenedByTheFirstCallOnly) {
  EXPECT_EQ(client->next_keep_alive(), time_never);
  ASSERT_TRUE(put("a", "1"));
  ASSERT_TRUE(put("b", "2"));
  EXPECT_EQ(master.count("OpenSession"), 1u);
  const auto& opened = master.last<OpenSession>();
  EXPECT_EQ(opened.tenant, "tenant");
  EXPECT_EQ(master.asked.front().get().header.session, (SessionId{1, 2}));
}

TEST_F(Session, NumbersGoUpByOneAndTheLowestUnansweredFollows) {
  ASSERT_TRUE(put("a", "1"));
  std::uint64_t number = 0;
  for (const OwnedRequest& request : master.asked) {
    EXPECT_EQ(request.get().header.number, ++number);
    EXPECT_EQ(request.get().header.lowest_unanswered, number);
  }
}

TEST_F(Session, ACallUnderWayHoldsTheLowestUnansweredUntilItEndsOrIsDestroyed) {
  ASSERT_TRUE(run(client->status(world.now() + within)));
  master.says["GetStatus"].push_back([](const Request&) { return std::nullopt; });
  auto silent = client->status(world.now() + within);
  silent.start();
  const std::uint64_t number = master.asked.back().get().header.number;
  ASSERT_TRUE(run(client->keep_alive(world.now() + within)));
  EXPECT_EQ(master.asked.back().get().header.lowest_unanswered, number);
  silent = {};  // destroyed
  ASSERT_TRUE(run(client->keep_alive(world.now() + within)));
  EXPECT_EQ(master.asked.back().get().header.lowest_unanswered,
            master.asked.back().get().header.number);
}

TEST_F(Session, ThatTheMasterDoesNotKnowIsOpenedAgainAndTheCallRepeatedAtOnce) {
  ASSERT_TRUE(put("a", "1"));
  master.refuse("Exists", ErrorCode::client_not_found);
  const Time before = world.now();
  const std::array<std::string_view, 1> keys{"a"};
  const auto found = run(client->exists(keys, world.now() + within));
  ASSERT_TRUE(found.at(0));
  EXPECT_TRUE(found.at(0)->exists);
  EXPECT_EQ(master.count("OpenSession"), 2u);
  EXPECT_EQ(world.now() - before, 3 * master.latency);
  const auto asked = master.requests("Exists");
  EXPECT_LT(asked.at(0)->header.number, asked.at(1)->header.number);
}

TEST_F(Session, TwoCallsThatLearnItIsUnknownBothGoOn) {
  ASSERT_TRUE(put("a", "1"));
  master.refuse("KeepAlive", ErrorCode::client_not_found);
  master.refuse("GetStatus", ErrorCode::client_not_found);
  auto first = client->keep_alive(world.now() + within);
  first.start();
  world.pass(Duration(10));
  // Its answer comes while the other is opening, so both open it: the second resumes.
  ASSERT_TRUE(run(client->status(world.now() + within)));
  while (!first.done()) ASSERT_TRUE(world.step());
  EXPECT_TRUE(first.result());
  EXPECT_EQ(master.count("OpenSession"), 3u);
}

TEST_F(Session, OnlyTheItemsThatMaySucceedAreAskedAgain) {
  master.objects["b"] = {.put_id = {{1}, 1}, .size = 1_B};
  ASSERT_TRUE(run(client->status(world.now() + within)));
  master.say("Remove", [&](const Request&) {
    return Reply{master.epoch,
                 {Done{}, failed(ErrorCode::unavailable_in_current_status),
                  failed(ErrorCode::object_has_lease)}};
  });
  const std::array<std::string_view, 3> keys{"a", "b", "c"};
  const auto removed = run(client->remove(keys, {}, world.now() + within));
  EXPECT_TRUE(removed.at(0));
  EXPECT_TRUE(removed.at(1));
  EXPECT_EQ(code_of(removed.at(2)), ErrorCode::object_has_lease);
  EXPECT_EQ(removed.at(2).error().facts().key, "c");
  ASSERT_EQ(master.count("Remove"), 2u);
  ASSERT_EQ(master.last<Remove>().items.size(), 1u);
  EXPECT_EQ(master.last<Remove>().items.at(0).key, "b");
}

TEST_F(Session, AMasterThatIsBusyForEverIsReportedAsSuchInTime) {
  for (int i = 0; i < 100; ++i) master.refuse("KeepAlive", ErrorCode::busy);
  const Time before = world.now();
  EXPECT_EQ(code_of(run(client->keep_alive(before + seconds(2)))), ErrorCode::busy);
  EXPECT_LE(world.now(), before + seconds(2));
  EXPECT_LT(master.count("KeepAlive"), 16u);
}

TEST_F(Session, ASupersededMasterIsNotObeyed) {
  ASSERT_TRUE(put("a", "1"));
  master.epoch = {4};
  const std::array<std::string_view, 1> keys{"a"};
  const auto found = run(client->exists(keys, world.now() + seconds(1)));
  EXPECT_EQ(code_of(found.at(0)), ErrorCode::epoch_superseded);
  EXPECT_EQ(master.asked.back().get().header.highest_epoch, Epoch{5});
}

TEST_F(Session, ANewMasterIsJoinedAndOldLeasesAreNotReturnedToIt) {
  ASSERT_TRUE(put("a", "1"));
  std::string into(1, ' ');
  ASSERT_TRUE(get("a", into));
  master.epoch = {6};
  master.refuse("KeepAlive", ErrorCode::client_not_found);
  ASSERT_TRUE(run(client->keep_alive(world.now() + within)));
  const auto asked = master.requests("KeepAlive");
  EXPECT_EQ(asked.at(0)->header.lease_returns.size(), 1u);
  EXPECT_TRUE(asked.at(1)->header.lease_returns.empty());
  EXPECT_EQ(asked.at(1)->header.highest_epoch, Epoch{6});
}

TEST_F(Session, IsOpenedWithANewMasterAsSoonAsThatShowsItself) {
  ASSERT_TRUE(put("a", "1"));
  master.epoch = {6};
  ASSERT_TRUE(run(client->status(world.now() + within)));
  ASSERT_TRUE(run(client->status(world.now() + within)));
  EXPECT_EQ(master.count("OpenSession"), 2u);
}

TEST_F(Session, LeasesOfAMasterThatIsReplacedMeanwhileAreNotReturned) {
  ASSERT_TRUE(put("a", "1"));
  // A lookup and a get hold leases of epoch 5 while an answer of epoch 6 is under way: one is given
  // back before that comes, one after it.
  const std::array<std::string_view, 1> keys{"a"};
  std::string into(1, ' ');
  const Slice slice = bytes_of(into);
  const GetItem item{.key = "a", .into = {&slice, 1}};
  nodes.node(1).delay = seconds(1);
  auto late = client->get({&item, 1}, world.now() + within);
  late.start();
  master.latency = milliseconds(10);
  master.say("KeepAlive", [](const Request&) { return Reply{{6}, {Done{}}}; });
  auto news = client->keep_alive(world.now() + within);
  news.start();
  master.latency = milliseconds(1);
  ASSERT_TRUE(run(client->lookup(keys, world.now() + within)).at(0));
  while (!news.done()) ASSERT_TRUE(world.step());
  master.epoch = {6};
  while (!late.done()) ASSERT_TRUE(world.step());
  ASSERT_TRUE(late.result().at(0));
  ASSERT_TRUE(run(client->status(world.now() + within)));
  EXPECT_TRUE(master.requests("GetStatus").at(0)->header.lease_returns.empty());
}

TEST_F(Session, KeepAliveIsDueAnIntervalAfterTheLastCall) {
  ASSERT_TRUE(put("a", "1"));
  const Time due = client->next_keep_alive();
  EXPECT_GT(due, world.now());
  EXPECT_LE(due, world.now() + seconds(1));
  world.pass(milliseconds(300));
  ASSERT_TRUE(run(client->keep_alive(world.now() + within)));
  EXPECT_GE(client->next_keep_alive(), due + milliseconds(300));
}

TEST_F(Session, B17CloseEndsItIsHarmlessTwiceAndALaterCallOpensItAgain) {
  ASSERT_TRUE(put("a", "1"));
  EXPECT_TRUE(run(client->close(world.now() + within)));
  EXPECT_TRUE(run(client->close(world.now() + within)));
  EXPECT_EQ(master.count("CloseSession"), 1u);
  EXPECT_EQ(client->next_keep_alive(), time_never);
  ASSERT_TRUE(put("b", "1"));
  EXPECT_EQ(master.count("OpenSession"), 2u);
}

TEST_F(Session, B17CloseTellsAMasterThatWasSilentAndDoesNotWaitForIt) {
  ASSERT_TRUE(put("a", "1"));
  const auto silence = [](const Request&) { return std::optional<Result<Reply>>(); };
  master.say("GetStatus", silence);
  EXPECT_EQ(code_of(run(client->status(world.now() + within))), ErrorCode::rpc_timeout);
  master.say("CloseSession", silence);
  const Time asked = world.now();
  run(client->close(asked + within));
  EXPECT_EQ(world.now(), asked);
  EXPECT_EQ(master.count("CloseSession"), 1u);
}

TEST_F(Session, CloseWaitsForTheAnswerOfAMasterThatAnswers) {
  ASSERT_TRUE(put("a", "1"));
  master.say("CloseSession", [](const Request&) { return std::optional<Result<Reply>>(); });
  const Time asked = world.now();
  EXPECT_EQ(code_of(run(client->close(asked + within))), ErrorCode::rpc_timeout);
  EXPECT_EQ(world.now(), asked + within);
}

TEST_F(Session, AnAnswerOfTheWrongShapeIsAnErrorAndNotACrash) {
  ASSERT_TRUE(put("a", "1"));
  master.say("KeepAlive", [&](const Request&) { return Reply{master.epoch, {}}; });
  EXPECT_EQ(code_of(run(client->keep_alive(world.now() + within))), ErrorCode::rpc_fail);
  master.say("GetStatus", [&](const Request&) { return Reply{master.epoch, {Done{}}}; });
  EXPECT_EQ(code_of(run(client->status(world.now() + within))), ErrorCode::rpc_fail);
  master.say("PutStart", [&](const Request&) { return Reply{master.epoch, {PutGrant{}}}; });
  EXPECT_EQ(code_of(put("b", "1")), ErrorCode::rpc_fail);
  master.say("GetReplicaList",
             [&](const Request&) { return Reply{master.epoch, {ReplicaList{.size = 1_B}}}; });
  std::string into(1, ' ');
  EXPECT_EQ(code_of(get("a", into)), ErrorCode::rpc_fail);
}

TEST_F(Session, AnUnreachableMasterIsRpcFailWithItsEndpoint) {
  master.say("OpenSession", [](const Request&) -> std::optional<Result<Reply>> {
    return std::unexpected(Error(ErrorCode::rpc_fail, "connection refused").with_endpoint("m:1"));
  });
  const auto outcome = put("a", "1");
  EXPECT_EQ(code_of(outcome), ErrorCode::rpc_fail);
  EXPECT_EQ(outcome.error().facts().endpoint, "m:1");
  EXPECT_EQ(outcome.error().facts().key, "a");
}

TEST_F(Session, SegmentsAreDescribedOnceForAllKeysAndCalls) {
  master.places = {1, 2};
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) names.push_back("key-" + std::to_string(i));
  const ConstSlice value = bytes_of("value");
  std::vector<PutItem> items;
  for (const auto& name : names) {
    items.push_back({.key = name, .value = {&value, 1}, .replicas = 2});
  }
  const auto outcomes = run(client->put(items, {}, world.now() + within));
  for (const auto& outcome : outcomes) ASSERT_TRUE(outcome);
  std::string into(5, ' ');
  ASSERT_TRUE(get("key-7", into));
  ASSERT_EQ(master.count("DescribeSegments"), 1u);
  EXPECT_EQ(master.last<DescribeSegments>().items.size(), 2u);
  // C4: whatever the number of keys.
  EXPECT_EQ(master.count("PutStart"), 1u);
  EXPECT_EQ(master.count("PutEnd"), 1u);
  EXPECT_EQ(nodes.node(1).transfers + nodes.node(2).transfers, 3u);
}

TEST_F(Session, A9ExistsSaysHowLongAGetWillWorkCountedFromBeforeTheQuestion) {
  ASSERT_TRUE(put("a", "1"));
  const std::array<std::string_view, 2> keys{"a", "nobody"};
  const auto found = run(client->exists(keys, world.now() + within));
  EXPECT_TRUE(found.at(0)->exists);
  EXPECT_EQ(found.at(0)->lease, milliseconds(990 - 2) - master.latency);
  ASSERT_TRUE(found.at(1));
  EXPECT_FALSE(found.at(1)->exists);
}

TEST_F(Session, LookupSaysTheSizeAndGivesItsLeaseBack) {
  ASSERT_TRUE(put("a", "12345"));
  const std::array<std::string_view, 2> keys{"a", "nobody"};
  const auto found = run(client->lookup(keys, world.now() + within));
  ASSERT_TRUE(found.at(0));
  EXPECT_EQ(found.at(0)->size, 5_B);
  EXPECT_EQ(found.at(0)->replicas, 1u);
  EXPECT_EQ(code_of(found.at(1)), ErrorCode::object_not_found);
  ASSERT_TRUE(run(client->quiesce(world.now() + within)));
  const auto& returned = master.requests("Quiesce").at(0)->header.lease_returns;
  ASSERT_EQ(returned.size(), 1u);
  EXPECT_EQ(returned[0].put_id, found.at(0)->put_id);
}

TEST_F(Session, D13BadKeysAreRefusedAloneAndBeforeAnyCall) {
  const std::string longest(key_bytes_max, 'k');
  const std::string too_long(key_bytes_max + 1, 'k');
  const std::array<std::string_view, 2> bad{"", too_long};
  for (const auto& found : run(client->exists(bad, world.now() + within))) {
    EXPECT_EQ(code_of(found), ErrorCode::invalid_key);
  }
  for (const auto& removed : run(client->remove(bad, {}, world.now() + within))) {
    EXPECT_EQ(code_of(removed), ErrorCode::invalid_key);
  }
  EXPECT_TRUE(run(client->lookup({}, world.now() + within)).empty());
  EXPECT_EQ(client->counters().master_calls, 0u);
  const std::array<std::string_view, 2> mixed{"", longest};
  const auto found = run(client->exists(mixed, world.now() + within));
  EXPECT_FALSE(found.at(0));
  EXPECT_TRUE(found.at(1));
}

TEST_F(Session, ACallOfTooManyItemsIsRefusedBeforeAnyCall) {
  const std::vector<std::string_view> keys(items_per_call_max + 1, "k");
  const auto found = run(client->exists(keys, world.now() + within));
  ASSERT_EQ(found.size(), keys.size());
  EXPECT_EQ(code_of(found.back()), ErrorCode::invalid_params);
  EXPECT_EQ(client->counters().master_calls, 0u);
}

}  // namespace
}  // namespace larder
