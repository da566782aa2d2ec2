#include "tests/unit/core/node/harness.h"

namespace larder::test {
namespace {

TEST(NodeFill, ASealedFillHasItsFooterAndCanBeRead) {
  Bench bench;
  bench.join();
  const FillItem item = Bench::item(put(1), 640_B);
  const auto begun = bench.begin(item);
  ASSERT_TRUE(begun);
  EXPECT_EQ(code(bench.read(Bench::name(item))), ErrorCode::replica_is_not_ready);
  EXPECT_TRUE(bench.footers.valid.empty());
  ASSERT_TRUE(bench.seal(begun->id));
  const Footer footer = bench.footers.valid.at({segment_a, 640_B + 1024_B});
  EXPECT_EQ(
      footer,
      (Footer{
          .name = fingerprint("t", "key"), .put_id = put(1), .length = 1000_B, .checksum = 77}));
  const auto read = bench.read(Bench::name(item));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->payload_size, 1000_B);
  EXPECT_EQ(read->checksum, 77u);
}

TEST(NodeFill, OneOfAnotherEpochIsRefused) {
  Bench bench;
  EXPECT_EQ(code(bench.begin(Bench::item(put(1, Epoch{0})))), ErrorCode::fill_refused)
      << "no epoch is obeyed yet";
  bench.join();
  EXPECT_EQ(code(bench.begin(Bench::item(put(1, Epoch{9})))), ErrorCode::fill_refused);
  EXPECT_EQ(code(bench.begin(Bench::item(put(1, Epoch{11})))), ErrorCode::fill_refused);
  EXPECT_TRUE(bench.begin(Bench::item(put(1))));
}

TEST(NodeFill, OneForAnotherIncarnationsSegmentIsRefused) {
  Bench bench;
  bench.join();
  EXPECT_EQ(code(bench.begin(Bench::item(put(1), 0_B, 1_B, SegmentId{1, 0xc}))),
            ErrorCode::segment_not_found);
}

TEST(NodeFill, OneThatOverlapsFillingSealedOrRetiringIsRefusedAndCounted) {
  Bench bench;
  bench.join();
  const FillItem first = Bench::item(put(1), 1024_B);  // 1024 … 2112
  const auto begun = bench.begin(first);
  ASSERT_TRUE(begun);
  const auto refused = [&] {
    for (const FillItem& item :
         {Bench::item(put(2), 1024_B), Bench::item(put(2), 0_B), Bench::item(put(2), 2048_B),
          Bench::item(put(2), 0_B, 8000_B), Bench::item(put(2), 1088_B, 1_B)}) {
      EXPECT_EQ(code(bench.begin(item)), ErrorCode::fill_refused) << item.location.offset.value;
    }
  };
  refused();
  ASSERT_TRUE(bench.seal(begun->id));
  refused();
  const auto read = bench.read(Bench::name(first));
  bench.retire(Bench::name(first));
  ASSERT_EQ(bench.count(FillState::retiring), 1u);
  refused();
  EXPECT_EQ(bench.node.status(bench.now).overlaps, 15u);
  bench.end_read(read->id);
  EXPECT_TRUE(bench.begin(Bench::item(put(2), 1024_B)));
}

TEST(NodeFill, NeighboursThatTouchDoNotOverlap) {
  Bench bench;
  bench.join();
  EXPECT_TRUE(bench.begin(Bench::item(put(1), 1088_B)));
  EXPECT_TRUE(bench.begin(Bench::item(put(2), 0_B)));
  EXPECT_TRUE(bench.begin(Bench::item(put(3), 2176_B)));
  EXPECT_TRUE(bench.begin(Bench::item(put(4), 0_B, 1000_B, segment_b)));
}

TEST(NodeFill, AMalformedOneIsRefusedWithTheReason) {
  Bench bench;
  bench.join();
  const auto refused = [&](auto change, ErrorCode expected = ErrorCode::invalid_params) {
    FillItem item = Bench::item(put(1));
    change(item);
    EXPECT_EQ(code(bench.begin(item)), expected);
  };
  const std::string long_key(key_bytes_max + 1, 'k');
  refused([](FillItem& item) { item.location.offset = 32_B; });
  refused([](FillItem& item) { item.location.offset = 64_KiB; });
  refused([](FillItem& item) { item.location.offset = Bytes{~0ull - 63}; });
  refused([](FillItem& item) { item.location.offset = 64_KiB - 1024_B; });
  refused([](FillItem& item) { item.record.size = 64_KiB; });
  refused([](FillItem& item) { item.record.size = item.part_length = Bytes{~0ull}; });
  refused([](FillItem& item) { item.part_length = 999_B; });
  refused([](FillItem& item) { item.part_length = 1001_B; });
  refused([](FillItem& item) { item.part_offset = Bytes{~0ull}; });
  refused([](FillItem& item) { item.part_length = 0_B, item.last_part = false; });
  refused([&](FillItem& item) { item.record.group = long_key; });
  refused([&](FillItem& item) { item.record.tenant = long_key; });
  refused([&](FillItem& item) { item.record.key = long_key; }, ErrorCode::invalid_key);
  refused([](FillItem& item) { item.record.key = ""; }, ErrorCode::invalid_key);
  FillItem full = Bench::item(put(1), 0_B, 64_KiB - 64_B);
  EXPECT_TRUE(bench.begin(full)) << "a segment's every byte can be used";
}

TEST(NodeFill, AWrongChecksumAtTheSealEndsItUnsealedForEver) {
  Bench bench;
  bench.join();
  const auto begun = bench.begin(Bench::item(put(1)));
  EXPECT_EQ(code(bench.seal(begun->id, 78)), ErrorCode::checksum_mismatch);
  EXPECT_TRUE(bench.footers.valid.empty());
  EXPECT_EQ(code(bench.begin(Bench::item(put(1)))), ErrorCode::fill_refused);
  EXPECT_TRUE(bench.begin(Bench::item(put(2))));
}

TEST(NodeFill, TheChecksumThatFollowsThePayloadCounts) {
  Bench bench;
  bench.join();
  FillItem item = Bench::item(put(1));
  item.checksum.reset();
  const auto begun = bench.begin(item);
  EXPECT_EQ(
      code(bench.node.seal(bench.now, begun->id, {.expected = 5, .computed = 6}, bench.effects)),
      ErrorCode::checksum_mismatch);
}

TEST(NodeFill, WithoutAWritersChecksumNoneIsStored) {
  Bench bench;
  bench.join();
  FillItem item = Bench::item(put(1));
  item.checksum.reset();
  const auto begun = bench.begin(item);
  ASSERT_TRUE(bench.node.seal(bench.now, begun->id, {}, bench.effects));
  EXPECT_EQ(bench.read(Bench::name(item))->checksum, std::nullopt);
  EXPECT_EQ(bench.footers.valid.begin()->second.checksum, std::nullopt);
}

TEST(NodeFill, ItIsSealedOnlyWhileTheWriterWaits) {
  Bench bench;
  bench.join();
  const auto begun = bench.begin(Bench::item(put(1)));
  EXPECT_EQ(code(bench.seal(begun->id, 77, false)), ErrorCode::cancelled);
  EXPECT_TRUE(bench.footers.valid.empty());
  EXPECT_EQ(code(bench.begin(Bench::item(put(1)))), ErrorCode::fill_refused);
}

TEST(NodeFill, GivenUpInTheMiddleItIsNeverTakenAgain) {
  Bench bench;
  bench.join();
  const auto begun = bench.begin(Bench::item(put(1)));
  bench.end_fill(begun->id);
  EXPECT_EQ(bench.count(FillState::filling), 0u);
  EXPECT_EQ(code(bench.begin(Bench::item(put(1)))), ErrorCode::fill_refused);
  EXPECT_EQ(code(bench.seal(begun->id)), ErrorCode::cancelled) << "a late seal";
  EXPECT_TRUE(bench.footers.valid.empty());
  EXPECT_TRUE(bench.begin(Bench::item(put(1), 0_B, 1000_B, segment_b))) << "another replica of it";
}

TEST(NodeFill, ARepeatedOneIsSealedAlreadyOrBusy) {
  Bench bench;
  bench.join();
  const FillItem item = Bench::item(put(1));
  const auto begun = bench.begin(item);
  EXPECT_EQ(code(bench.begin(item)), ErrorCode::busy);
  EXPECT_EQ(code(bench.begin(item, ConnectionId{2})), ErrorCode::busy);
  FillItem other_size = Bench::item(put(1), 0_B, 999_B);
  EXPECT_EQ(code(bench.begin(other_size)), ErrorCode::invalid_params);
  ASSERT_TRUE(bench.seal(begun->id));
  const auto again = bench.begin(item);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->already_sealed);
  EXPECT_EQ(again->id, FillId{});
  EXPECT_EQ(bench.node.status(bench.now).open_fills, 0u);
}

TEST(NodeFill, AfterEofInTheMiddleARepeatedOneBeginsFromTheStart) {
  Bench bench;
  bench.join();
  const FillItem item = Bench::item(put(1));
  const auto first = bench.begin(item);
  bench.node.connection_closed(bench.now, writer, bench.effects);
  bench.node.check_invariants();
  EXPECT_EQ(bench.node.status(bench.now).fills_in_flight, 0u);
  EXPECT_EQ(code(bench.seal(first->id)), ErrorCode::cancelled);
  const auto second = bench.begin(item, ConnectionId{2});
  ASSERT_TRUE(second);
  EXPECT_NE(second->id, first->id);
  bench.end_fill(first->id);  // late, for the one that has ended
  EXPECT_TRUE(bench.seal(second->id));
}

TEST(NodeFill, AfterEofTheSpaceIsGivenUpWhenNobodyComesBack) {
  Bench bench;
  bench.join();
  const FillItem item = Bench::item(put(1));
  ASSERT_TRUE(bench.begin(item));
  bench.node.connection_closed(bench.now, writer, bench.effects);
  bench.tick(1999ms);
  EXPECT_EQ(bench.count(FillState::filling), 1u);
  bench.tick(1ms);
  EXPECT_EQ(bench.count(FillState::filling), 0u);
  EXPECT_TRUE(bench.effects.abort_fills.empty()) << "nothing was in flight";
  EXPECT_EQ(code(bench.begin(item, ConnectionId{2})), ErrorCode::fill_refused);
}

TEST(NodeFill, EofOfOneConnectionLeavesTheOthersAlone) {
  Bench bench;
  bench.join();
  ASSERT_TRUE(bench.begin(Bench::item(put(1))));
  const auto other = bench.begin(Bench::item(put(2), 4096_B), ConnectionId{2});
  bench.node.connection_closed(bench.now, writer, bench.effects);
  EXPECT_TRUE(bench.seal(other->id));
}

TEST(NodeFill, WithoutProgressItIsEndedAndItsSpaceKeptUntilTheDriverSaysSo) {
  Bench bench;
  bench.join();
  const FillItem item = Bench::item(put(1));
  const auto begun = bench.begin(item);
  for (int i = 1; i <= 5; ++i) {
    bench.tick(1900ms);
    ASSERT_TRUE(bench.effects.abort_fills.empty());
    bench.node.progress(bench.now, begun->id, Bytes(100 * static_cast<std::uint64_t>(i)));
  }
  bench.node.progress(bench.now + 1s, begun->id, 500_B);  // no further than before: no progress
  bench.tick(2s);
  ASSERT_EQ(bench.effects.abort_fills, std::vector{begun->id});
  EXPECT_EQ(code(bench.begin(Bench::item(put(2)))), ErrorCode::fill_refused);
  EXPECT_EQ(code(bench.begin(item)), ErrorCode::fill_refused);
  bench.end_fill(begun->id);
  EXPECT_TRUE(bench.begin(Bench::item(put(2))));
}

TEST(NodeFill, TheSealOfAnAbortedOneIsRefusedAndEndsIt) {
  Bench bench;
  bench.join();
  const auto begun = bench.begin(Bench::item(put(1)));
  bench.tick(2s);
  ASSERT_EQ(bench.effects.abort_fills.size(), 1u);
  EXPECT_EQ(code(bench.seal(begun->id)), ErrorCode::cancelled);
  EXPECT_EQ(bench.node.status(bench.now).open_fills, 0u);
}

FillItem part(Bytes offset, Bytes length, bool last) {
  FillItem item = Bench::item(put(1));
  item.part_offset = offset;
  item.part_length = length;
  item.last_part = last;
  return item;
}

TEST(NodeFill, PartsInOrderAreSealedWithTheLast) {
  Bench bench;
  bench.join();
  const auto first = bench.begin(part(0_B, 400_B, false));
  ASSERT_TRUE(bench.node.part_done(bench.now, first->id, bench.effects));
  bench.tick(9s);  // a writer may compute between its parts
  const auto second = bench.begin(part(400_B, 300_B, false), ConnectionId{2});
  ASSERT_TRUE(second);
  ASSERT_TRUE(bench.node.part_done(bench.now, second->id, bench.effects));
  const auto third = bench.begin(part(700_B, 300_B, true));
  ASSERT_TRUE(third);
  EXPECT_TRUE(bench.seal(third->id));
  EXPECT_EQ(bench.count(FillState::sealed), 1u);
}

TEST(NodeFill, AGapOrARepeatedPartIsRefusedAndTheRightOneStillTaken) {
  Bench bench;
  bench.join();
  EXPECT_EQ(code(bench.begin(part(400_B, 600_B, true))), ErrorCode::fill_refused);
  const auto first = bench.begin(part(0_B, 400_B, false));
  EXPECT_EQ(code(bench.begin(part(400_B, 600_B, true))), ErrorCode::busy);
  ASSERT_TRUE(bench.node.part_done(bench.now, first->id, bench.effects));
  EXPECT_EQ(code(bench.begin(part(500_B, 500_B, true))), ErrorCode::fill_refused);
  EXPECT_EQ(code(bench.begin(part(0_B, 400_B, false))), ErrorCode::fill_refused);
  EXPECT_EQ(code(bench.seal(first->id)), ErrorCode::cancelled);
  const auto last = bench.begin(part(400_B, 600_B, true));
  ASSERT_TRUE(last);
  EXPECT_TRUE(bench.seal(last->id));
}

TEST(NodeFill, AfterEofItGoesOnFromTheLastWholePart) {
  Bench bench;
  bench.join();
  const auto first = bench.begin(part(0_B, 400_B, false));
  ASSERT_TRUE(bench.node.part_done(bench.now, first->id, bench.effects));
  ASSERT_TRUE(bench.begin(part(400_B, 300_B, false)));
  bench.node.connection_closed(bench.now, writer, bench.effects);
  EXPECT_EQ(code(bench.begin(part(700_B, 300_B, true), ConnectionId{2})), ErrorCode::fill_refused);
  const auto again = bench.begin(part(400_B, 600_B, true), ConnectionId{2});
  ASSERT_TRUE(again);
  EXPECT_TRUE(bench.seal(again->id));
}

TEST(NodeFill, OneThatWaitsForItsNextPartTooLongEndsByItself) {
  Bench bench;
  bench.join();
  const auto first = bench.begin(part(0_B, 400_B, false));
  ASSERT_TRUE(bench.node.part_done(bench.now, first->id, bench.effects));
  bench.tick(Timing::allowed(1000_B));
  EXPECT_EQ(bench.node.status(bench.now).open_fills, 0u);
  EXPECT_EQ(code(bench.begin(part(400_B, 600_B, true))), ErrorCode::fill_refused);
}

TEST(NodeFill, EofBetweenPartsLeavesItTheTimeOfAStalledOne) {
  Bench bench;
  bench.join();
  const auto first = bench.begin(part(0_B, 400_B, false));
  bench.tick(1s);
  ASSERT_TRUE(bench.node.part_done(bench.now, first->id, bench.effects));
  bench.tick(3s);
  bench.node.connection_closed(bench.now, writer, bench.effects);
  bench.tick(1999ms);
  EXPECT_EQ(bench.count(FillState::filling), 1u);
  bench.tick(1ms);
  EXPECT_EQ(bench.count(FillState::filling), 0u);
}

TEST(NodeFill, CancelledBetweenPartsItEndsAtOnce) {
  Bench bench;
  bench.join();
  const auto first = bench.begin(part(0_B, 400_B, false));
  ASSERT_TRUE(bench.node.part_done(bench.now, first->id, bench.effects));
  bench.end_fill(first->id);
  EXPECT_EQ(bench.count(FillState::filling), 0u);
}

TEST(NodeFill, SlotsAreBoundedAndTheQueueIsWhatTheNextOneWouldWait) {
  Bench bench({.fill_slots = 2});
  bench.join();
  const auto a = bench.begin(Bench::item(put(1), 0_B));
  EXPECT_EQ(bench.node.fill_queue(bench.now), 0s);
  const auto b = bench.begin(Bench::item(put(2), 4096_B));
  EXPECT_EQ(code(bench.begin(Bench::item(put(3), 8192_B))), ErrorCode::busy);
  EXPECT_EQ(bench.node.fill_queue(bench.now), 2s) << "nothing has moved: until it is given up";
  bench.now += 100ms;
  bench.node.progress(bench.now, a->id, 500_B);
  bench.node.progress(bench.now, b->id, 100_B);
  EXPECT_EQ(bench.node.fill_queue(bench.now), 100ms);
  ASSERT_TRUE(bench.seal(b->id));
  EXPECT_TRUE(bench.begin(Bench::item(put(3), 8192_B)));
}

TEST(NodeFill, OpenFillsAreBounded) {
  Bench bench({.open_fills_max = 1});
  bench.join();
  const auto first = bench.begin(part(0_B, 400_B, false));
  ASSERT_TRUE(bench.node.part_done(bench.now, first->id, bench.effects));
  EXPECT_EQ(code(bench.begin(Bench::item(put(2), 4096_B))), ErrorCode::busy);
  EXPECT_TRUE(bench.begin(part(400_B, 600_B, true)));
}

TEST(NodeFill, WithoutTheGuardsWhatTheyPreventHappens) {
  {
    Bench bench({.guards = {.overlap = false}});
    bench.join();
    const auto first = bench.begin(Bench::item(put(1, Epoch{9})));
    ASSERT_TRUE(first) << "an older epoch";
    const auto second = bench.begin(Bench::item(put(2)));
    ASSERT_TRUE(second) << "the same place";
    EXPECT_TRUE(bench.seal(second->id));
    EXPECT_TRUE(bench.begin(Bench::item(put(3), 64_B)));
  }
  {
    Bench bench({.guards = {.retired_put_ids = false}});
    bench.join();
    bench.retire(Bench::name(Bench::item(put(1))));
    EXPECT_TRUE(bench.begin(Bench::item(put(1))));
  }
  {
    Bench bench({.guards = {.writer_waits = false}});
    bench.join();
    const auto begun = bench.begin(Bench::item(put(1)));
    bench.node.connection_closed(bench.now, writer, bench.effects);
    EXPECT_TRUE(bench.seal(begun->id, 77, false));
  }
  {
    Bench bench({.guards = {.checksum = false}});
    bench.join();
    const auto begun = bench.begin(Bench::item(put(1)));
    EXPECT_TRUE(bench.seal(begun->id, 78));
  }
}

}  // namespace
}  // namespace larder::test
