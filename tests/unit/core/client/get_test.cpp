#include "tests/unit/core/client/client_fixture.h"

namespace larder {
namespace {

using fakes::segment;

class Get : public ClientTest {
 protected:
  // With replicas on nodes 1 to n, of which a get of `key` tries number `first` first.
  void store(std::string_view key, std::string_view value, std::uint32_t replicas = 1) {
    master.places.clear();
    for (std::uint64_t i = 1; i <= replicas; ++i) master.places.push_back(i);
    ASSERT_TRUE(put({.key = key, .replicas = replicas}, value));
  }
  std::uint64_t transfers() { return client->counters().transfers; }
  // The number of the node of two that a get tries first.
  std::uint64_t first_choice(std::string_view key) {
    std::string buffer(64, ' ');
    EXPECT_TRUE(get(key, buffer));
    return nodes.node(1).transfers > nodes.node(2).transfers ? 1 : 2;
  }
  void one_sided() { nodes.traits_to_set().one_sided = true; }
  std::string into = std::string(5, ' ');
};

TEST_F(Get, ReadsIntoTheCallersSlicesAndTouchesNoByteMore) {
  store("k", "abcde");
  std::string first(2, '-');
  std::string second(6, '-');
  const std::array slices{bytes_of(first), bytes_of(second)};
  const GetItem item{.key = "k", .into = slices};
  const auto outcome = run(client->get({&item, 1}, world.now() + within)).at(0);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->size, 5_B);
  EXPECT_EQ(outcome->put_id, master.objects.at("k").put_id);
  EXPECT_TRUE(outcome->checksum_verified);
  EXPECT_EQ(first + second, "abcde---");
}

TEST_F(Get, C4OfManyKeysIsOneQuestionAndOneTransferForEachNode) {
  for (char c = 'a'; c <= 'z'; ++c) {
    master.places = {static_cast<std::uint64_t>(c % 2 + 1)};
    ASSERT_TRUE(put({.key = std::string_view(&c, 1)}, std::string(1, c)));
  }
  const auto before = transfers();
  std::string keys = "abcdefghijklmnopqrstuvwxyz";
  std::string read(26, ' ');
  std::vector<Slice> slices;
  std::vector<GetItem> items;
  for (char& c : read) slices.push_back(std::as_writable_bytes(std::span(&c, 1)));
  for (std::size_t i = 0; i < 26; ++i) {
    items.push_back({.key = std::string_view(&keys[i], 1), .into = {&slices[i], 1}});
  }
  for (const auto& outcome : run(client->get(items, world.now() + within))) ASSERT_TRUE(outcome);
  EXPECT_EQ(read, keys);
  EXPECT_EQ(transfers() - before, 2u);
  EXPECT_EQ(master.count("GetReplicaList"), 1u);
}

TEST_F(Get, C10LookupQueueAndTransferAreTimedApartAndSentWithARenewal) {
  store("k", "value");
  const auto counts = [&] {
    std::array<std::uint64_t, stages_max> all{};
    for (std::size_t i = 0; i < stages_max; ++i) all[i] = client->stages().all()[i].count();
    return all;
  };
  const auto before = counts();
  std::string read(5, '-');
  const std::array slices{bytes_of(read)};
  const GetItem item{.key = "k", .into = slices};
  ASSERT_TRUE(run(client->get({&item, 1}, world.now() + within)).at(0));
  for (std::size_t i = 0; i < stages_max; ++i) EXPECT_EQ(counts()[i], before[i] + 1) << i;
  ASSERT_TRUE(run(client->keep_alive(world.now() + within)));
  ASSERT_TRUE(run(client->keep_alive(world.now() + within)));
  const auto renewals = master.requests("KeepAlive");
  ASSERT_EQ(renewals.size(), 2u);
  StageTimes sent;
  sent.merge(std::get<KeepAlive>(renewals[0]->body).stages);
  for (std::size_t i = 0; i < stages_max; ++i) EXPECT_EQ(sent.all()[i].count(), counts()[i]) << i;
  EXPECT_TRUE(std::get<KeepAlive>(renewals[1]->body).stages.empty());
}

TEST_F(Get, AfterALookupTellsTheMasterThatItIsCountedAlready) {
  store("k", "value");
  const std::string_view key = "k";
  ASSERT_TRUE(run(client->lookup({&key, 1}, world.now() + within)).at(0));
  std::string read(5, '-');
  const std::array slices{bytes_of(read)};
  const GetItem item{.key = "k", .into = slices};
  ASSERT_TRUE(run(client->get({&item, 1}, world.now() + within, {.looked_up = true})).at(0));
  const auto asked = master.requests("GetReplicaList");
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_FALSE(std::get<GetReplicaList>(asked[0]->body).again);
  EXPECT_TRUE(std::get<GetReplicaList>(asked[1]->body).again);
}

TEST_F(Get, IsSplitAtWhatTheTransportCarries) {
  store("k", "abcdefghi");
  nodes.traits_to_set().transfer_bytes_max = 4_B;
  one_sided();  // then each part has a footer of its own
  std::string first(3, '-');
  std::string second(10, '-');
  const std::array slices{bytes_of(first), bytes_of(second)};
  const GetItem item{.key = "k", .into = slices};
  ASSERT_TRUE(run(client->get({&item, 1}, world.now() + within)).at(0));
  EXPECT_EQ(first + second, "abcdefghi----");
  EXPECT_EQ(nodes.ranges, 1u + 3u);
}

TEST_F(Get, OfAMissingKeyIsObjectNotFoundAndHoldsUpNoOther) {
  store("k", "abcde");
  const Slice slice = bytes_of(into);
  const std::array items{GetItem{.key = "nobody", .into = {&slice, 1}},
                         GetItem{.key = "k", .into = {&slice, 1}}};
  const auto outcomes = run(client->get(items, world.now() + within));
  EXPECT_EQ(code_of(outcomes.at(0)), ErrorCode::object_not_found);
  EXPECT_EQ(outcomes.at(0).error().facts().key, "nobody");
  EXPECT_TRUE(outcomes.at(1));
}

TEST_F(Get, IntoABufferTooSmallNamesBothSizesAndReadsNothing) {
  store("k", "abcde");
  const auto before = transfers();
  std::string small(4, '-');
  const auto outcome = get("k", small);
  EXPECT_EQ(code_of(outcome), ErrorCode::buffer_overflow);
  EXPECT_NE(outcome.error().message().find("4 bytes, the object 5"), std::string::npos);
  EXPECT_EQ(transfers(), before);
  EXPECT_EQ(small, "----");
}

TEST_F(Get, OfARangeReadsExactlyItAndSaysThatNoChecksumCoversIt) {
  store("k", "abcde");
  std::string part(3, '-');
  const auto outcome = get("k", part, 1_B);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(part, "bcd");
  EXPECT_EQ(outcome->size, 3_B);
  EXPECT_FALSE(outcome->checksum_verified);
  for (const Bytes offset : {3_B, 6_B, Bytes{~0ull}}) {
    EXPECT_EQ(code_of(get("k", part, offset)), ErrorCode::invalid_params);
  }
}

TEST_F(Get, A10RefusesBadItemsBeforeAnyInputOrOutput) {
  const std::string long_key(key_bytes_max + 1, 'k');
  const Slice slice = bytes_of(into);
  const std::array items{GetItem{.key = "", .into = {&slice, 1}},
                         GetItem{.key = long_key, .into = {&slice, 1}}, GetItem{.key = "k"}};
  const auto outcomes = run(client->get(items, world.now() + within));
  EXPECT_EQ(code_of(outcomes.at(0)), ErrorCode::invalid_key);
  EXPECT_EQ(code_of(outcomes.at(1)), ErrorCode::invalid_key);
  EXPECT_EQ(code_of(outcomes.at(2)), ErrorCode::invalid_params);
  EXPECT_TRUE(run(client->get({}, world.now() + within)).empty());
  EXPECT_EQ(client->counters().master_calls, 0u);
}

TEST_F(Get, PrefersTheReplicaOnItsOwnHost) {
  renew({.host = "host-2"});
  for (const char* key : {"a", "b", "c", "d", "e", "f"}) store(key, "abcde", 3);
  const auto before = nodes.node(2).transfers;
  for (const char* key : {"a", "b", "c", "d", "e", "f"}) ASSERT_TRUE(get(key, into));
  EXPECT_EQ(nodes.node(2).transfers - before, 6u);
}

TEST_F(Get, GivesItsLeaseBackWithTheNextCallAndNeverAgain) {
  store("k", "abcde");
  const auto outcome = get("k", into);
  ASSERT_TRUE(outcome);
  ASSERT_TRUE(run(client->keep_alive(world.now() + within)));
  ASSERT_TRUE(run(client->keep_alive(world.now() + within)));
  const auto calls = master.requests("KeepAlive");
  ASSERT_EQ(calls.at(0)->header.lease_returns.size(), 1u);
  const LeaseReturn& lease = calls.at(0)->header.lease_returns[0];
  EXPECT_EQ(lease.slot, 3u);
  EXPECT_EQ(lease.round, 1u);
  EXPECT_EQ(lease.put_id, outcome->put_id);
  EXPECT_TRUE(calls.at(1)->header.lease_returns.empty());
}

TEST_F(Get, A1ThatEndsAfterItsLeaseIsLeaseExpiredAndNeverOk) {
  store("k", "abcde");
  master.lease = milliseconds(500);
  nodes.node(1).delay = seconds(1);
  for (const auto& offset : {std::optional<Bytes>(), std::optional(0_B)}) {
    EXPECT_EQ(code_of(get("k", into, offset)), ErrorCode::lease_expired);
  }
  const auto asked = master.requests("GetReplicaList");
  ASSERT_EQ(asked.size(), 4u);  // each asked once more, and gave the lease back that was over
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(asked[i]->header.lease_returns.size(), i == 0 ? 0u : 1u);
  }
}

TEST_F(Get, OfWhichTheAnswerTookLongerThanTheLeaseReadsNothing) {
  store("k", "abcde");
  const auto before = transfers();
  master.lease = milliseconds(500);
  master.latency = milliseconds(600);
  EXPECT_EQ(code_of(get("k", into)), ErrorCode::lease_expired);
  EXPECT_EQ(transfers(), before);
}

TEST_F(Get, WithoutTheLeaseGuardTakesALateRead) {
  renew({.guards = {.lease = false}});
  store("k", "abcde");
  master.lease = milliseconds(500);
  nodes.node(1).delay = seconds(1);
  EXPECT_TRUE(get("k", into));
}

TEST_F(Get, A1AfterALateReadTakesOnlyWhatTheNewListNames) {
  store("k", "abcde");
  master.lease = milliseconds(500);
  nodes.node(1).delay = seconds(1);
  // Evicted and put again while the read was under way: other bytes, another put id.
  master.say("GetReplicaList", [&](const Request& request) { return master.usual(request); });
  master.say("GetReplicaList", [&](const Request& request) {
    master.objects.erase("k");
    const ConstSlice value = bytes_of("ABCDE");
    const PutItem item{.key = "k", .value = {&value, 1}};
    nodes.node(1).delay = milliseconds(1);
    auto again = client->put({&item, 1}, {}, world.now() + within);
    again.start();
    while (!again.done()) world.step();
    return master.usual(request);
  });
  const auto outcome = get("k", into);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(into, "ABCDE");
  EXPECT_EQ(outcome->put_id.counter, 2u);
}

TEST_F(Get, A15OneFlippedByteIsChecksumMismatchAndIsReportedWithTheNextCall) {
  store("k", "abcde");
  const ReplicaLocation place = master.objects.at("k").replicas.at(0);
  nodes.stored(place).bytes[2] ^= 1;
  const auto outcome = get("k", into);
  EXPECT_EQ(code_of(outcome), ErrorCode::checksum_mismatch);
  EXPECT_EQ(outcome.error().facts().endpoint, segment(1).endpoint);
  EXPECT_EQ(outcome.error().facts().size, 5_B);
  // With the very next call, which is this get's own second question.
  const auto asked = master.requests("GetReplicaList");
  ASSERT_EQ(asked.size(), 2u);
  ASSERT_EQ(asked[1]->header.bad_bytes.size(), 1u);
  EXPECT_EQ(asked[1]->header.bad_bytes[0].key, "k");
  EXPECT_EQ(asked[1]->header.bad_bytes[0].extent,
            (ExtentName{master.objects.at("k").put_id, place}));
  EXPECT_EQ(transfers(), 2u);  // the put's, and one read: a bad extent is not read again
}

TEST_F(Get, BadBytesAreReportedAgainIfTheCallThatCarriedThemGotNoAnswer) {
  store("k", "abcde");
  nodes.stored(master.objects.at("k").replicas.at(0)).bytes[2] ^= 1;
  master.say("GetReplicaList", [&](const Request& request) { return master.usual(request); });
  master.says["GetReplicaList"].push_back([](const Request&) { return std::nullopt; });
  EXPECT_FALSE(get("k", into));
  ASSERT_TRUE(run(client->keep_alive(world.now() + within)));
  EXPECT_EQ(master.requests("KeepAlive").at(0)->header.bad_bytes.size(), 1u);
}

TEST_F(Get, OneFlippedByteIsReadFromAnotherReplicaIfThereIsOne) {
  store("k", "abcde", 2);
  const auto first = first_choice("k");
  nodes.stored(master.objects.at("k").replicas.at(first - 1)).bytes[2] ^= 1;
  ASSERT_TRUE(get("k", into));
  EXPECT_EQ(into, "abcde");
  EXPECT_EQ(client->counters().read_failures, 1u);
}

TEST_F(Get, A15MakesNoPassOverTheDataWhereAnyoneHasChecksumsOff) {
  store("with", "abcde");
  EXPECT_EQ(client->counters().checksum_passes, 1u);
  renew({.checksum = false});
  auto outcome = get("with", into);
  EXPECT_FALSE(outcome->checksum_verified);
  store("without", "abcde");
  EXPECT_EQ(client->counters().checksum_passes, 0u);
  renew({});
  outcome = get("without", into);
  EXPECT_FALSE(outcome->checksum_verified);
  renew({.guards = {.checksum = false}});
  nodes.stored(master.objects.at("with").replicas.at(0)).bytes[2] ^= 1;
  outcome = get("with", into);
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(outcome->checksum_verified);
  EXPECT_EQ(client->counters().checksum_passes, 0u);
}

TEST_F(Get, OneSidedNeedsAFooterOfThisPutAndKeyAndLength) {
  renew({.checksum = false});  // so that the footer alone decides
  store("k", "abcde");
  one_sided();
  const auto object = master.objects.at("k");
  auto& stored = nodes.stored(object.replicas.at(0));
  const Footer good{
      .name = fingerprint("tenant", "k"), .put_id = object.put_id, .length = 5_B, .checksum = {}};
  EXPECT_TRUE(get("k", into));
  Footer other_put = good, other_key = good, other_length = good;
  other_put.put_id.counter += 1;
  other_key.name = fingerprint("tenant", "other");
  other_length.length = 6_B;
  for (const FooterBytes& bad :
       {encode(other_put), encode(other_key), encode(other_length), FooterBytes{}}) {
    stored.footer = bad;
    EXPECT_EQ(code_of(get("k", into)), ErrorCode::replica_is_gone);
  }
}

TEST_F(Get, WithoutTheFooterGuardReadsWhateverIsThere) {
  renew({.guards = {.footer = false}, .checksum = false});
  store("k", "abcde");
  one_sided();
  nodes.stored(master.objects.at("k").replicas.at(0)).footer = {};
  EXPECT_TRUE(get("k", into));
}

TEST_F(Get, B14FailsOverToAnotherReplicaAndLeavesTheDeadEndpointAloneForASecond) {
  store("k", "abcde", 2);
  const auto first = first_choice("k");
  nodes.node(first).dead = true;
  const auto before = nodes.node(first).transfers;
  ASSERT_TRUE(get("k", into));
  EXPECT_EQ(into, "abcde");
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(get("k", into));
  EXPECT_EQ(nodes.node(first).transfers - before, 1u);
  EXPECT_EQ(master.count("GetReplicaList"), 1u + 1u + 5u);  // the failover asked nobody
}

TEST_F(Get, A6FailsOverOnlyAfterTheFirstTransferHasPhysicallyEnded) {
  store("k", "abcde", 2);
  nodes.node(first_choice("k")).dead = true;
  const Slice slice = bytes_of(into);
  const GetItem item{.key = "k", .into = {&slice, 1}};
  auto task = client->get({&item, 1}, world.now() + within);
  task.start();
  while (!task.done()) {
    EXPECT_LE(nodes.in_flight(), 1u);
    ASSERT_TRUE(world.step());
  }
  EXPECT_TRUE(task.result().at(0));
}

TEST_F(Get, OfWhichNoNodeAnswersAsksOnceMoreAndIsThenTransferFailWithTheEndpoint) {
  store("k", "abcde");
  nodes.node(1).dead = true;
  const Time before = world.now();
  const auto outcome = get("k", into);
  EXPECT_EQ(code_of(outcome), ErrorCode::transfer_fail);
  EXPECT_EQ(outcome.error().facts().endpoint, segment(1).endpoint);
  EXPECT_LE(world.now(), before + within + within / 10);
  EXPECT_EQ(master.count("GetReplicaList"), 2u);
  // Known as dead: no transfer at all.
  const auto tried = nodes.node(1).transfers;
  const auto again = get("k", into);
  EXPECT_EQ(code_of(again), ErrorCode::transfer_fail);
  EXPECT_EQ(again.error().facts().endpoint, segment(1).endpoint);
  EXPECT_EQ(nodes.node(1).transfers, tried);
}

TEST_F(Get, OfAReplicaThatIsGoneFindsTheOneInTheNewList) {
  store("k", "abcde");
  master.say("GetReplicaList", [&](const Request& request) {
    Reply reply = master.usual(request);
    std::get<ReplicaList>(*reply.answers[0]).replicas[0].offset = 77_B;
    return reply;
  });
  ASSERT_TRUE(get("k", into));
  EXPECT_EQ(into, "abcde");
  EXPECT_EQ(master.count("GetReplicaList"), 2u);
}

TEST_F(Get, OfWhichTheMasterSaysNothingEndsInTime) {
  store("k", "abcde");
  master.says["GetReplicaList"].push_back([](const Request&) { return std::nullopt; });
  const Time before = world.now();
  EXPECT_EQ(code_of(get("k", into)), ErrorCode::rpc_timeout);
  EXPECT_LE(world.now(), before + within + within / 10);
}

TEST_F(Get, OnASegmentThatTheMasterDoesNotKnowIsSegmentNotFound) {
  store("k", "abcde");
  renew({});  // that has not learnt of it
  master.refuse("DescribeSegments", ErrorCode::segment_not_found);
  master.refuse("DescribeSegments", ErrorCode::segment_not_found);
  EXPECT_EQ(code_of(get("k", into)), ErrorCode::segment_not_found);
}

}  // namespace
}  // namespace larder
