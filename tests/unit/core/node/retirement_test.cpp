#include "core/node/ended_puts.h"
#include "tests/unit/core/node/harness.h"

namespace larder::test {
namespace {

TEST(NodeRetirement, OverwritesTheFooterAndConfirms) {
  Bench bench;
  bench.join();
  const FillItem item = Bench::item(put(1));
  bench.store(item);
  ASSERT_EQ(bench.footers.valid.size(), 1u);
  bench.retire(Bench::name(item));
  EXPECT_TRUE(bench.footers.valid.empty());
  const auto& confirmation = bench.sent<ConfirmRetirement>();
  EXPECT_EQ(confirmation.retired, std::vector{Bench::name(item)});
  EXPECT_TRUE(confirmation.held.empty());
  EXPECT_EQ(confirmation.incarnation, incarnation);
  EXPECT_EQ(confirmation.registration, 1u);
}

// A5: a fill that arrives after its retirement, held or not.
TEST(NodeRetirement, A5ALateFillIsRefusedWhetherItsPutWasHeldOrNot) {
  Bench bench;
  bench.join();
  const FillItem held = Bench::item(put(1));
  const FillItem never_came = Bench::item(put(2), 4096_B);
  bench.store(held);
  bench.command(RetireExtents{{Bench::name(held), Bench::name(never_came)}});
  EXPECT_EQ(bench.sent<ConfirmRetirement>().retired,
            (std::vector{Bench::name(held), Bench::name(never_came)}));
  EXPECT_EQ(code(bench.begin(held)), ErrorCode::fill_refused);
  EXPECT_EQ(code(bench.begin(never_came)), ErrorCode::fill_refused);
  EXPECT_TRUE(bench.begin(Bench::item(put(3)))) << "another put of that place";
}

TEST(NodeRetirement, AskedAgainItIsConfirmedAgain) {
  Bench bench;
  bench.join();
  const FillItem item = Bench::item(put(1));
  bench.store(item);
  for (int i = 0; i < 3; ++i) {
    bench.retire(Bench::name(item));
    EXPECT_EQ(bench.sent<ConfirmRetirement>().retired, std::vector{Bench::name(item)});
    bench.answer_last(Done{});
  }
}

TEST(NodeRetirement, OfAnotherPutOfThePlaceTouchesNothing) {
  Bench bench;
  bench.join();
  const FillItem item = Bench::item(put(2));
  bench.store(item);
  bench.retire({put(1), item.location});
  EXPECT_EQ(bench.sent<ConfirmRetirement>().retired.size(), 1u);
  EXPECT_EQ(bench.footers.valid.size(), 1u);
  EXPECT_TRUE(bench.read(Bench::name(item)));
}

TEST(NodeRetirement, A5WaitsForReadsInFlightAndSaysSoWhenAskedAgain) {
  Bench bench;
  bench.join();
  const FillItem item = Bench::item(put(1));
  bench.store(item);
  const auto first = bench.read(Bench::name(item));
  bench.now += 1s;
  const auto second = bench.read(Bench::name(item));
  bench.retire(Bench::name(item));
  EXPECT_TRUE(bench.footers.valid.empty()) << "the footer goes first";
  EXPECT_FALSE(bench.has_sent<ConfirmRetirement>());
  bench.now += 1s;
  bench.retire(Bench::name(item));
  const auto& held = bench.sent<ConfirmRetirement>();
  EXPECT_TRUE(held.retired.empty());
  ASSERT_EQ(held.held.size(), 1u);
  EXPECT_EQ(held.held[0].extent, Bench::name(item));
  EXPECT_EQ(held.held[0].at_most, Timing::allowed(1000_B) - 1s);
  bench.answer_last(Done{});
  bench.end_read(first->id);
  EXPECT_FALSE(bench.has_sent<ConfirmRetirement>());
  bench.end_read(second->id);
  EXPECT_EQ(bench.sent<ConfirmRetirement>().retired, std::vector{Bench::name(item)});
}

TEST(NodeRetirement, A5OfAFillingExtentWaitsUntilTheFillHasEnded) {
  Bench bench;
  bench.join();
  const FillItem item = Bench::item(put(1));
  const auto begun = bench.begin(item);
  bench.retire(Bench::name(item));
  EXPECT_EQ(bench.effects.abort_fills, std::vector{begun->id});
  EXPECT_FALSE(bench.has_sent<ConfirmRetirement>());
  EXPECT_EQ(code(bench.begin(item, ConnectionId{2})), ErrorCode::fill_refused);
  bench.retire(Bench::name(item));
  EXPECT_EQ(bench.effects.abort_fills.size(), 1u);
  EXPECT_EQ(bench.sent<ConfirmRetirement>().held.at(0).at_most, 2s);
  bench.answer_last(Done{});
  bench.end_fill(begun->id);
  EXPECT_EQ(bench.sent<ConfirmRetirement>().retired, std::vector{Bench::name(item)});
  EXPECT_EQ(code(bench.begin(item)), ErrorCode::fill_refused);
}

TEST(NodeRetirement, OfAFillThatWasJustWholeIsConfirmedUnsealed) {
  Bench bench;
  bench.join();
  const auto begun = bench.begin(Bench::item(put(1)));
  bench.retire(Bench::name(Bench::item(put(1))));
  EXPECT_EQ(code(bench.seal(begun->id)), ErrorCode::cancelled);
  EXPECT_TRUE(bench.footers.valid.empty());
  EXPECT_EQ(bench.sent<ConfirmRetirement>().retired.size(), 1u);
}

TEST(NodeRetirement, OfAnOrphanedFillIsConfirmedAtOnce) {
  Bench bench;
  bench.join();
  const FillItem item = Bench::item(put(1));
  ASSERT_TRUE(bench.begin(item));
  bench.node.connection_closed(bench.now, writer, bench.effects);
  bench.retire(Bench::name(item));
  EXPECT_EQ(bench.sent<ConfirmRetirement>().retired, std::vector{Bench::name(item)});
  EXPECT_EQ(code(bench.begin(item, ConnectionId{2})), ErrorCode::fill_refused);
}

TEST(NodeRetirement, OneConfirmationAtATimeGathersWhatComesMeanwhile) {
  Bench bench;
  bench.join();
  for (std::uint64_t i = 1; i <= 4; ++i) bench.retire(Bench::name(Bench::item(put(i))));
  EXPECT_EQ(bench.sent<ConfirmRetirement>().retired.size(), 1u);
  bench.answer_last(Done{});
  EXPECT_EQ(bench.sent<ConfirmRetirement>().retired.size(), 3u);
}

TEST(NodeRetirement, ACommandForAnotherIncarnationOrOfAnotherMasterIsDropped) {
  Bench bench;
  bench.join();
  const FillItem item = Bench::item(put(1));
  bench.store(item);
  const RetireExtents retire{{Bench::name(item)}};
  bench.command(retire, Epoch{9});
  bench.command(retire, Epoch{11});
  bench.command(retire, epoch, InstanceId{3, 2});
  bench.node.command(bench.now,
                     {.incarnation = IncarnationId{2, 2},
                      .epoch = epoch,
                      .instance = instance,
                      .lowest_unfinished = put(100),
                      .body = retire},
                     bench.effects);
  EXPECT_EQ(bench.count(FillState::sealed), 1u);
  EXPECT_FALSE(bench.has_sent<ConfirmRetirement>());
  EXPECT_TRUE(bench.begin(Bench::item(put(2), 4096_B))) << "its floor does not count either";
}

TEST(NodeRetirement, BelowTheLowestUnfinishedAnUnknownPutCountsAsRetiredAndCostsNoMemory) {
  Bench bench;
  bench.join();
  const FillItem sealed = Bench::item(put(1));
  bench.store(sealed);
  for (std::uint64_t i = 2; i < 10; ++i) bench.retire(Bench::name(Bench::item(put(i), 4096_B)));
  EXPECT_EQ(bench.node.status(bench.now).ended_puts, 8u);
  bench.command(RetireExtents{}, epoch, instance, put(20));
  EXPECT_EQ(bench.node.status(bench.now).ended_puts, 0u);
  EXPECT_EQ(code(bench.begin(Bench::item(put(9), 4096_B))), ErrorCode::fill_refused);
  EXPECT_EQ(code(bench.begin(Bench::item(put(19), 4096_B))), ErrorCode::fill_refused);
  EXPECT_TRUE(bench.begin(sealed)->already_sealed) << "that one is known";
  bench.command(RetireExtents{}, epoch, instance, put(5));  // late
  EXPECT_EQ(code(bench.begin(Bench::item(put(19), 4096_B))), ErrorCode::fill_refused);
  EXPECT_TRUE(bench.begin(Bench::item(put(20), 4096_B)));
  bench.retire(Bench::name(sealed));
  EXPECT_EQ(bench.node.status(bench.now).ended_puts, 0u);
}

TEST(NodeRetirement, NothingIsConfirmedWhileDisconnectedAndEverythingWhenAskedAgain) {
  Bench bench;
  bench.join();
  const FillItem item = Bench::item(put(1));
  bench.store(item);
  const auto read = bench.read(Bench::name(item));
  bench.retire(Bench::name(item));
  bench.node.disconnected(bench.now);
  bench.end_read(read->id);
  EXPECT_FALSE(bench.has_sent<ConfirmRetirement>());
  bench.join();
  bench.retire(Bench::name(item));
  EXPECT_EQ(bench.sent<ConfirmRetirement>().retired, std::vector{Bench::name(item)});
}

TEST(EndedPuts, WhenFullTheLowestCountAsEndedAllTogether) {
  EndedPuts ended(2);
  ended.begin_epoch(epoch);
  const auto name = [](std::uint64_t i) { return ExtentName{put(i), {segment_a, 0_B}}; };
  ended.add(name(5));
  ended.add(name(7));
  EXPECT_FALSE(ended.contains(name(4)));
  ended.add(name(9));
  EXPECT_EQ(ended.size(), 2u);
  EXPECT_TRUE(ended.contains(name(4))) << "refused rather than wrongly taken";
  EXPECT_TRUE(ended.contains(name(5)));
  EXPECT_FALSE(ended.contains(name(6)));
  EXPECT_TRUE(ended.contains(name(7)));
  EXPECT_FALSE(ended.contains({put(7), {segment_b, 0_B}}));
  EXPECT_FALSE(ended.contains({put(4, Epoch{9}), {segment_a, 0_B}})) << "another epoch";
}

}  // namespace
}  // namespace larder::test
