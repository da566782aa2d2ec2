#include "tests/unit/core/node/harness.h"

namespace larder::test {
namespace {

TEST(NodeRegistration, SaysWhoItIsAndWhatItOffers) {
  Bench bench;
  bench.node.connected(bench.now, bench.effects);
  const auto& request = bench.sent<RegisterNode>();
  EXPECT_EQ(request.incarnation, incarnation);
  EXPECT_EQ(request.registration, 1u);
  EXPECT_EQ(request.taken_epoch, Epoch{});
  EXPECT_EQ(request.name, "node");
  ASSERT_EQ(request.segments.size(), 2u);
  EXPECT_EQ(request.segments[0].id, segment_a);
  EXPECT_EQ(request.segments[1].size, 64_KiB);
}

TEST(NodeRegistration, EachConnectionAndEachNewSegmentIsANewNumber) {
  Bench bench;
  bench.join();
  bench.node.disconnected(bench.now);
  bench.node.connected(bench.now, bench.effects);
  EXPECT_EQ(bench.sent<RegisterNode>().registration, 2u);
  EXPECT_EQ(bench.sent<RegisterNode>().taken_epoch, epoch);
  EXPECT_EQ(bench.effects.send.back().request.header.highest_epoch, epoch);
  bench.effects.clear();
  ASSERT_TRUE(
      bench.node.add_segment(bench.now, {.id = {1, 1}, .name = "c", .size = 128_B}, bench.effects));
  EXPECT_EQ(bench.sent<RegisterNode>().registration, 3u);
  EXPECT_EQ(bench.sent<RegisterNode>().segments.size(), 3u);
}

TEST(NodeRegistration, ASegmentThatCannotBeIsRefused) {
  Bench bench;
  const auto add = [&](NodeSegment segment) {
    return bench.node.add_segment(bench.now, std::move(segment), bench.effects);
  };
  EXPECT_EQ(code(add({.id = segment_a, .size = 64_KiB})), ErrorCode::segment_already_exists);
  EXPECT_EQ(code(add({.id = {}, .size = 64_KiB})), ErrorCode::invalid_params);
  EXPECT_EQ(code(add({.id = {5, 5}, .size = 65_B})), ErrorCode::invalid_params);
  EXPECT_EQ(code(add({.id = {5, 5}, .size = 0_B})), ErrorCode::invalid_params);
  EXPECT_EQ(code(add({.id = {5, 5}, .kind = SegmentKind::file, .size = 64_KiB})),
            ErrorCode::not_supported);
}

// The order in the report: by segment, then by offset.
TEST(NodeInventory, ComesInPartsEachAfterTheAnswerToTheOneBefore) {
  Bench bench({.inventory_part_items = 2});
  bench.join();
  bench.store(Bench::item(put(1), 8192_B, 1000_B, segment_b));
  bench.store(Bench::item(put(2), 8192_B));
  bench.store(Bench::item(put(3), 4096_B));
  bench.store(Bench::item(put(4), 0_B, 1000_B, segment_b));
  ASSERT_TRUE(bench.begin(Bench::item(put(5), 16384_B)));  // filling: not in the report
  bench.node.connected(bench.now, bench.effects);
  bench.answer_last(bench.accepted());
  const auto part = bench.sent<ReportInventory>();
  EXPECT_EQ(part.part, 0u);
  EXPECT_EQ(part.registration, 2u);
  EXPECT_FALSE(part.last);
  ASSERT_EQ(part.items.size(), 2u);
  EXPECT_EQ(part.items[0].extent.put_id, put(3));
  EXPECT_EQ(part.items[1].extent.put_id, put(2));
  bench.tick();
  EXPECT_EQ(bench.effects.send.size(), 1u) << "nothing before the answer";
  bench.answer_last(Done{});
  const auto& second = bench.sent<ReportInventory>();
  EXPECT_EQ(second.part, 1u);
  EXPECT_TRUE(second.last);
  ASSERT_EQ(second.items.size(), 2u);
  EXPECT_EQ(second.items[0].extent.put_id, put(4));
  EXPECT_EQ(second.items[1].extent.put_id, put(1));
  EXPECT_FALSE(bench.node.status(bench.now).reported);
  bench.answer_last(Done{});
  EXPECT_TRUE(bench.node.status(bench.now).reported);
}

TEST(NodeInventory, TellsAllThatAMasterWithoutMemoryNeeds) {
  Bench bench;
  bench.join();
  FillItem item = Bench::item(put(1));
  item.record.soft_pin = 5s;
  item.record.time_to_live = 60s;
  item.record.hard_pin = true;
  const auto begun = bench.begin(item);
  bench.now += 1s;
  ASSERT_TRUE(bench.seal(begun->id));
  FillItem expired = Bench::item(put(2), 4096_B);
  expired.record.soft_pin = 1s;
  expired.record.time_to_live = 1s;
  bench.store(expired);
  FillItem plain = Bench::item(put(3), 8192_B);
  plain.record.time_to_live = Duration::max();
  bench.store(plain);
  const auto read = bench.read(Bench::name(plain));
  bench.retire(Bench::name(plain));
  bench.now += 2s;
  bench.node.connected(bench.now, bench.effects);
  bench.answer_last(bench.accepted());
  const auto& report = bench.sent<ReportInventory>();
  ASSERT_EQ(report.items.size(), 3u);
  const auto& first = report.items[0];
  EXPECT_FALSE(first.retiring);
  EXPECT_EQ(first.record.tenant, "t");
  EXPECT_EQ(first.record.key, "key");
  EXPECT_EQ(first.record.group, "group");
  EXPECT_EQ(first.record.parent, "parent");
  EXPECT_EQ(first.record.size, 1000_B);
  EXPECT_EQ(first.record.soft_pin, 2s);
  EXPECT_EQ(first.record.time_to_live, 57s);
  EXPECT_TRUE(first.record.hard_pin);
  EXPECT_EQ(first.checksum, 77u);
  EXPECT_EQ(first.age, 2s);
  EXPECT_EQ(report.items[1].record.soft_pin, 0s);
  EXPECT_EQ(report.items[1].record.time_to_live, 1ns) << "zero would mean: for ever";
  EXPECT_TRUE(report.items[2].retiring) << "H9: what still holds space is told";
  EXPECT_EQ(report.items[2].record.time_to_live, 0s);
  EXPECT_TRUE(read);
}

TEST(NodeInventory, ANewConnectionInTheMiddleBeginsTheReportAnew) {
  Bench bench({.inventory_part_items = 1});
  bench.join();
  bench.store(Bench::item(put(1)));
  bench.store(Bench::item(put(2), 4096_B));
  bench.node.connected(bench.now, bench.effects);
  bench.answer_last(bench.accepted());
  const std::uint64_t old_ticket = bench.last_ticket();
  bench.node.disconnected(bench.now);
  bench.node.connected(bench.now, bench.effects);
  bench.answer_last(bench.accepted());
  EXPECT_EQ(bench.sent<ReportInventory>().registration, 3u);
  EXPECT_EQ(bench.sent<ReportInventory>().part, 0u);
  bench.effects.send.clear();
  bench.node.answered(bench.now, old_ticket, Done{}, bench.effects);
  EXPECT_TRUE(bench.effects.send.empty()) << "a late answer moves nothing";
}

TEST(NodeInventory, ADoubledAnswerSendsNoPartTwiceAndSkipsNone) {
  Bench bench({.inventory_part_items = 1});
  bench.join();
  bench.store(Bench::item(put(1)));
  bench.store(Bench::item(put(2), 4096_B));
  bench.node.connected(bench.now, bench.effects);
  const std::uint64_t registering = bench.last_ticket();
  bench.answer_last(bench.accepted());
  const std::uint64_t part = bench.last_ticket();
  bench.node.answered(bench.now, registering, bench.accepted(), bench.effects);
  EXPECT_EQ(bench.effects.send.size(), 1u);
  bench.answer_last(Done{});
  bench.node.answered(bench.now, part, Done{}, bench.effects);
  EXPECT_EQ(bench.effects.send.size(), 1u);
  EXPECT_EQ(bench.sent<ReportInventory>().items.at(0).extent.put_id, put(2));
  EXPECT_FALSE(bench.node.status(bench.now).reported);
}

// H6: what is confirmed must not be overtaken by a report that still names it.
TEST(NodeInventory, NoConfirmationIsSentBeforeTheReportIsComplete) {
  Bench bench({.inventory_part_items = 1});
  bench.join();
  const FillItem item = Bench::item(put(1));
  bench.store(item);
  bench.store(Bench::item(put(2), 4096_B));
  bench.node.connected(bench.now, bench.effects);
  bench.answer_last(bench.accepted());
  ASSERT_EQ(bench.sent<ReportInventory>().items.at(0).extent.put_id, put(1));
  bench.effects.send.resize(1);
  bench.retire(Bench::name(item));
  EXPECT_FALSE(bench.has_sent<ConfirmRetirement>());
  bench.answer_last(Done{});
  EXPECT_FALSE(bench.has_sent<ConfirmRetirement>());
  bench.answer_last(Done{});
  EXPECT_EQ(bench.sent<ConfirmRetirement>().retired, std::vector{Bench::name(item)});
  EXPECT_EQ(bench.sent<ConfirmRetirement>().registration, 2u);
}

TEST(NodeInventory, OnlyThePresentRegistrationsReportCountsAsTaken) {
  Bench bench;
  bench.node.connected(bench.now, bench.effects);
  bench.answer_last(bench.accepted());
  bench.command(InventoryTaken{0});
  EXPECT_EQ(bench.node.status(bench.now).taken_epoch, Epoch{});
  bench.command(InventoryTaken{1});  // may overtake the answer to the last part
  EXPECT_EQ(bench.node.status(bench.now).taken_epoch, epoch);
  bench.node.connected(bench.now, bench.effects);
  bench.answer_last(bench.accepted(Epoch{11}, InstanceId{3, 2}));
  bench.command(InventoryTaken{1}, Epoch{11}, InstanceId{3, 2});
  EXPECT_EQ(bench.node.status(bench.now).taken_epoch, epoch);
}

TEST(NodeEpoch, ANewerOneEndsTheFillsOfTheOlderBeforeTheReport) {
  Bench bench;
  bench.join();
  bench.store(Bench::item(put(1)));
  const auto in_flight = bench.begin(Bench::item(put(2), 4096_B));
  FillItem part = Bench::item(put(3), 8192_B);
  part.part_length = 10_B;
  part.last_part = false;
  const auto waiting = bench.begin(part, ConnectionId{2});
  ASSERT_TRUE(bench.node.part_done(bench.now, waiting->id, bench.effects));
  bench.node.connected(bench.now, bench.effects);
  bench.answer_last(bench.accepted(Epoch{11}, InstanceId{3, 2}));
  EXPECT_EQ(bench.effects.abort_fills, std::vector{in_flight->id});
  EXPECT_TRUE(bench.effects.send.empty()) << "the report waits";
  EXPECT_EQ(bench.count(FillState::filling), 1u);
  EXPECT_EQ(code(bench.seal(in_flight->id)), ErrorCode::cancelled);
  const auto& report = bench.sent<ReportInventory>();
  EXPECT_TRUE(report.last);
  ASSERT_EQ(report.items.size(), 1u);
  EXPECT_EQ(report.items[0].extent.put_id, put(1));
  EXPECT_EQ(code(bench.begin(Bench::item(put(4), 4096_B))), ErrorCode::fill_refused);
  EXPECT_TRUE(bench.begin(Bench::item(put(0, Epoch{11}), 4096_B)));
}

TEST(NodeEpoch, TheSameMasterOnANewConnectionEndsNoFill) {
  Bench bench;
  bench.join();
  const auto begun = bench.begin(Bench::item(put(2)));
  bench.node.disconnected(bench.now);
  bench.join();
  EXPECT_TRUE(bench.effects.abort_fills.empty());
  EXPECT_TRUE(bench.seal(begun->id));
}

TEST(NodeEpoch, AnOlderMasterIsNotObeyed) {
  Bench bench;
  bench.join();
  bench.node.connected(bench.now, bench.effects);
  bench.answer_last(bench.accepted(Epoch{9}));
  EXPECT_TRUE(bench.effects.reconnect);
  EXPECT_TRUE(bench.effects.send.empty());
  EXPECT_EQ(bench.node.status(bench.now).epoch, epoch);
}

TEST(NodeEpoch, AnotherInstanceOfTheSameNumberIsNotObeyed) {
  Bench bench;
  bench.join();
  bench.node.connected(bench.now, bench.effects);
  bench.answer_last(bench.accepted(epoch, InstanceId{3, 2}));
  EXPECT_TRUE(bench.effects.reconnect);
  EXPECT_TRUE(bench.effects.send.empty());
  EXPECT_NE(bench.node.status(bench.now).last_error, "");
}

TEST(NodeRetireEverything, IsDoneBeforeTheEmptyReport) {
  Bench bench;
  bench.join();
  const FillItem read_item = Bench::item(put(1));
  bench.store(read_item);
  bench.store(Bench::item(put(2), 4096_B));
  const auto filling = bench.begin(Bench::item(put(3), 8192_B));
  const auto read = bench.read(Bench::name(read_item));
  bench.node.connected(bench.now, bench.effects);
  NodeRegistered answer = bench.accepted(Epoch{11}, InstanceId{3, 2});
  answer.retire_everything = true;
  bench.answer_last(answer);
  EXPECT_TRUE(bench.footers.valid.empty());
  EXPECT_TRUE(bench.effects.send.empty());
  EXPECT_EQ(code(bench.begin(Bench::item(put(0, Epoch{11}), 16384_B))), ErrorCode::fill_refused);
  bench.end_fill(filling->id);
  EXPECT_TRUE(bench.effects.send.empty());
  bench.end_read(read->id);
  EXPECT_TRUE(bench.sent<ReportInventory>().items.empty());
  EXPECT_TRUE(bench.sent<ReportInventory>().last);
  bench.answer_last(Done{});
  bench.command(InventoryTaken{2}, Epoch{11}, InstanceId{3, 2});
  EXPECT_EQ(bench.node.status(bench.now).taken_epoch, Epoch{11});
  EXPECT_TRUE(bench.begin(Bench::item(put(0, Epoch{11}), 16384_B)));
}

TEST(NodeRetireEverything, ManyExtentsTakeSeveralTicks) {
  Footers footers;
  NodeEffects effects;
  Node node(Bench::with_names({}), incarnation, footers);
  Time now{1s};
  ASSERT_TRUE(node.add_segment(now, {.id = segment_a, .name = "s", .size = 1_MiB}, effects));
  const auto answer = [&](const Answer& value) {
    const std::uint64_t ticket = effects.send.back().ticket;
    effects.clear();
    node.answered(now, ticket, value, effects);
  };
  node.connected(now, effects);
  answer(NodeRegistered{.epoch = epoch, .instance = instance});
  answer(Done{});
  for (std::uint64_t i = 0; i < 8192; ++i) {
    const auto begun = node.begin_fill(now, Bench::item(put(i), Bytes{i * 128}, 1_B), writer);
    ASSERT_TRUE(begun);
    ASSERT_TRUE(node.seal(now, begun->id, {.expected = {}, .computed = 77}, effects));
  }
  node.connected(now, effects);
  answer(NodeRegistered{.epoch = {11}, .instance = instance, .retire_everything = true});
  EXPECT_EQ(footers.valid.size(), 4096u);
  EXPECT_EQ(code(node.begin_read(now, {.extent = {put(8191), {segment_a, Bytes{8191} * 128}}})),
            ErrorCode::replica_is_gone);
  for (int i = 0; i < 2; ++i) {
    EXPECT_LE(node.next_deadline().value(), now);
    EXPECT_TRUE(effects.send.empty());
    node.tick(now, effects);
  }
  EXPECT_TRUE(footers.valid.empty());
  ASSERT_EQ(effects.send.size(), 1u);
  node.check_invariants();
}

TEST(NodeLost, RetiresEverythingAndIsFinishedWhenNothingIsInFlight) {
  Bench bench;
  bench.join();
  const FillItem item = Bench::item(put(1));
  bench.store(item);
  const auto read = bench.read(Bench::name(item));
  bench.tick(1s);
  ASSERT_TRUE(bench.has_sent<Heartbeat>());
  bench.answer_last(failed(ErrorCode::node_lost));
  EXPECT_TRUE(bench.footers.valid.empty());
  EXPECT_FALSE(bench.effects.finished);
  EXPECT_EQ(code(bench.read(Bench::name(item))), ErrorCode::replica_is_gone);
  EXPECT_EQ(code(bench.begin(Bench::item(put(2), 4096_B))), ErrorCode::fill_refused);
  bench.end_read(read->id);
  EXPECT_TRUE(bench.effects.finished);
  bench.effects.clear();
  bench.node.connected(bench.now, bench.effects);
  bench.tick(60s);
  EXPECT_TRUE(bench.effects.send.empty()) << "it never comes back";
  EXPECT_FALSE(bench.effects.finished);
}

TEST(NodeLink, HeartbeatsFollowTheMastersIntervalAndNeverPileUp) {
  Bench bench;
  bench.node.connected(bench.now, bench.effects);
  NodeRegistered answer = bench.accepted();
  answer.heartbeat = 3s;
  bench.answer_last(answer);
  bench.answer_last(Done{});
  bench.effects.clear();
  EXPECT_EQ(bench.node.next_deadline(), bench.now + 3s);
  bench.tick(2999ms);
  EXPECT_TRUE(bench.effects.send.empty());
  bench.tick(1ms);
  EXPECT_EQ(bench.sent<Heartbeat>().registration, 1u);
  bench.tick(3s);
  EXPECT_EQ(bench.effects.send.size(), 1u) << "the one before is not answered";
  bench.answer_last(Done{});
  bench.tick(3s);
  EXPECT_TRUE(bench.has_sent<Heartbeat>());
}

TEST(NodeLink, HeartbeatsCarryTheQueueAndTheOverlaps) {
  Bench bench({.fill_slots = 1});
  bench.join();
  ASSERT_TRUE(bench.begin(Bench::item(put(1))));
  EXPECT_FALSE(bench.begin(Bench::item(put(2))));
  bench.tick(1s);
  EXPECT_EQ(bench.sent<Heartbeat>().fill_queue, 2s);
  EXPECT_EQ(bench.sent<Heartbeat>().overlaps, 1u);
}

TEST(NodeLink, WithoutAnAnswerItLeavesTheConnectionWhichMayBeHalfOpen) {
  Bench bench;
  bench.node.connected(bench.now, bench.effects);
  bench.effects.clear();
  bench.tick(5s);
  EXPECT_TRUE(bench.effects.reconnect);
  EXPECT_FALSE(bench.has_sent<RegisterNode>());
  bench.effects.clear();
  bench.node.connected(bench.now, bench.effects);
  EXPECT_EQ(bench.sent<RegisterNode>().registration, 2u);
  bench.answer_last(bench.accepted());
  ASSERT_TRUE(bench.has_sent<ReportInventory>());
  bench.effects.clear();
  bench.tick(5s);
  EXPECT_TRUE(bench.effects.reconnect) << "a part of the report has no answer";
}

TEST(NodeLink, AMasterThatDoesNotKnowItIsToldAtOnce) {
  Bench bench;
  bench.join();
  bench.tick(1s);
  bench.answer_last(failed(ErrorCode::client_not_found));
  EXPECT_EQ(bench.sent<RegisterNode>().registration, 2u);
}

TEST(NodeLink, ARefusedRegistrationIsTriedAgainAfterAHeartbeat) {
  Bench bench;
  for (const ErrorCode error : {ErrorCode::client_not_found, ErrorCode::invalid_params}) {
    bench.node.connected(bench.now, bench.effects);
    bench.answer_last(failed(error));
    EXPECT_TRUE(bench.effects.send.empty());
    EXPECT_EQ(bench.node.next_deadline(), bench.now + 1s);
    bench.tick(1s);
    EXPECT_TRUE(bench.has_sent<RegisterNode>());
  }
}

TEST(NodeLink, AnAnswerToAnotherRequestIsAnErrorNotACrash) {
  Bench bench;
  bench.node.connected(bench.now, bench.effects);
  bench.answer_last(Done{});
  EXPECT_TRUE(bench.effects.send.empty());
  bench.tick(1s);
  bench.answer_last(bench.accepted());
  bench.answer_last(bench.accepted());
  EXPECT_FALSE(bench.node.status(bench.now).reported);
}

TEST(NodeLink, ASupersededMasterIsLeft) {
  Bench bench;
  bench.join();
  bench.tick(1s);
  bench.answer_last(failed(ErrorCode::epoch_superseded));
  EXPECT_TRUE(bench.effects.reconnect);
  bench.effects.clear();
  bench.tick(10s);
  EXPECT_TRUE(bench.effects.send.empty());
}

TEST(NodeLink, DisconnectedItHasNothingToDo) {
  Bench bench;
  bench.join();
  EXPECT_EQ(bench.node.next_deadline(), bench.now + 1s);
  bench.node.disconnected(bench.now);
  EXPECT_EQ(bench.node.next_deadline(), std::nullopt);
}

TEST(NodeDigest, IsEqualForEqualHistoriesAndTellsStatesApart) {
  Bench one;
  Bench two;
  one.join();
  two.join();
  EXPECT_EQ(one.node.digest(), two.node.digest());
  one.store(Bench::item(put(1)));
  EXPECT_NE(one.node.digest(), two.node.digest());
  two.store(Bench::item(put(1)));
  EXPECT_EQ(one.node.digest(), two.node.digest());
}

}  // namespace
}  // namespace larder::test
