#include "tests/unit/core/node/harness.h"

namespace larder::test {
namespace {

TEST(NodeRead, A1OnlyTheVeryPutThatIsSealedThereIsServed) {
  Bench bench;
  bench.join();
  const FillItem item = Bench::item(put(2), 64_B);
  bench.store(item);
  EXPECT_TRUE(bench.read(Bench::name(item)));
  EXPECT_EQ(code(bench.read({put(1), item.location})), ErrorCode::replica_is_gone);
  EXPECT_EQ(code(bench.read({put(2), {segment_a, 0_B}})), ErrorCode::replica_is_gone);
  EXPECT_EQ(code(bench.read({put(2), {segment_b, 64_B}})), ErrorCode::replica_is_gone);
  EXPECT_EQ(code(bench.read({put(2), {SegmentId{9, 9}, 64_B}})), ErrorCode::segment_not_found);
  bench.retire(Bench::name(item));
  EXPECT_EQ(code(bench.read(Bench::name(item))), ErrorCode::replica_is_gone);
}

TEST(NodeRead, OnlyTheTenantsOwnIsServedWhereTheTenantIsKnown) {
  Bench bench;
  bench.join();
  const FillItem item = Bench::item(put(1));
  bench.store(item);
  const auto as = [&](std::string_view tenant) {
    return bench.node.begin_read(
        bench.now, {.extent = Bench::name(item), .tenant = tenant, .offset = 0_B, .length = 1_B});
  };
  EXPECT_TRUE(as("t"));
  EXPECT_EQ(code(as("u")), ErrorCode::replica_is_gone);
}

TEST(NodeRead, ARangeOutsideThePayloadIsRefused) {
  Bench bench;
  bench.join();
  const FillItem item = Bench::item(put(1));
  bench.store(item);
  EXPECT_TRUE(bench.read(Bench::name(item), 999_B, 1_B));
  EXPECT_TRUE(bench.read(Bench::name(item), 1000_B, 0_B));
  EXPECT_EQ(code(bench.read(Bench::name(item), 999_B, 2_B)), ErrorCode::invalid_params);
  EXPECT_EQ(code(bench.read(Bench::name(item), 2_B, Bytes{~0ull})), ErrorCode::invalid_params);
  EXPECT_EQ(code(bench.read(Bench::name(item), Bytes{~0ull}, 2_B)), ErrorCode::invalid_params);
}

TEST(NodeRead, OneThatTakesTooLongIsEndedByTheDriver) {
  Bench bench;
  bench.join();
  const FillItem item = Bench::item(put(1));
  bench.store(item);
  const auto read = bench.read(Bench::name(item));
  bench.tick(Timing::allowed(1000_B) - 1ns);
  EXPECT_TRUE(bench.effects.abort_reads.empty());
  bench.tick(1ns);
  EXPECT_EQ(bench.effects.abort_reads, std::vector{read->id});
  EXPECT_EQ(bench.node.status(bench.now).reads_in_flight, 1u) << "until the driver says so";
  bench.end_read(read->id);
  bench.end_read(read->id);  // once too often
  EXPECT_EQ(bench.node.status(bench.now).reads_in_flight, 0u);
}

TEST(NodeRead, TheyAreBounded) {
  Bench bench({.reads_max = 1});
  bench.join();
  const FillItem item = Bench::item(put(1));
  bench.store(item);
  ASSERT_TRUE(bench.read(Bench::name(item)));
  EXPECT_EQ(code(bench.read(Bench::name(item))), ErrorCode::busy);
}

TEST(NodeRead, WithoutTheGuardAnythingInsideTheSegmentIsServed) {
  Bench bench({.guards = {.footer = false}});
  bench.join();
  const FillItem item = Bench::item(put(1));
  const auto begun = bench.begin(item);
  const auto read = bench.read(Bench::name(item));
  ASSERT_TRUE(read) << "of what is being filled";
  bench.end_fill(begun->id);
  bench.end_read(read->id);
  EXPECT_TRUE(bench.read({put(9), {segment_a, 64_B}}));
  EXPECT_EQ(code(bench.read({put(9), {segment_a, 64_KiB}})), ErrorCode::invalid_params);
  EXPECT_EQ(code(bench.read({put(9), {segment_a, Bytes{~0ull}}})), ErrorCode::invalid_params);
}

void expect_reported(const Bench& bench, const FillItem& item) {
  const auto& extents = bench.sent<ReportCorrupt>().extents;
  ASSERT_EQ(extents.size(), 1u);
  EXPECT_EQ(extents[0].name, Bench::name(item));
  EXPECT_EQ(extents[0].tenant, "t");
  EXPECT_EQ(extents[0].key, "key");
}

TEST(NodeVerify, AFlippedByteIsReportedUntilTheMasterHasIt) {
  Bench bench;
  bench.join();
  const FillItem good = Bench::item(put(1));
  const FillItem bad = Bench::item(put(2), 4096_B);
  bench.store(good);
  bench.store(bad);
  bench.command(VerifyExtents{{Bench::name(good), Bench::name(bad), {put(3), {segment_a, 0_B}}}});
  ASSERT_EQ(bench.effects.verify.size(), 2u);
  EXPECT_EQ(bench.effects.verify[1].extent, Bench::name(bad));
  EXPECT_EQ(bench.effects.verify[1].size, 1000_B);
  bench.node.verified(bench.now, bench.effects.verify[0].id, 77, bench.effects);
  EXPECT_FALSE(bench.has_sent<ReportCorrupt>());
  bench.node.verified(bench.now, bench.effects.verify[1].id, 78, bench.effects);
  expect_reported(bench, bad);
  bench.node.disconnected(bench.now);
  bench.effects.clear();
  bench.node.connected(bench.now, bench.effects);
  bench.answer_last(bench.accepted());
  bench.answer_last(Done{});  // the report
  expect_reported(bench, bad);
  bench.answer_last(Done{});
  bench.tick(1s);
  EXPECT_FALSE(bench.has_sent<ReportCorrupt>());
}

// A bit that flipped in the footer: whoever reads without the node finds no footer there, for ever.
TEST(NodeVerify, AFooterThatWasDamagedIsWrittenAgain) {
  Bench bench;
  bench.join();
  const FillItem item = Bench::item(put(1));
  bench.store(item);
  const auto whole = bench.footers.valid;
  ASSERT_EQ(whole.size(), 1u);
  bench.footers.valid.clear();
  bench.command(VerifyExtents{{Bench::name(item)}});
  ASSERT_EQ(bench.footers.valid.size(), 1u);
  EXPECT_EQ(encode(bench.footers.valid.begin()->second), encode(whole.begin()->second));
}

TEST(NodeVerify, ItHoldsTheExtentLikeAnyRead) {
  Bench bench;
  bench.join();
  const FillItem item = Bench::item(put(1));
  bench.store(item);
  bench.command(VerifyExtents{{Bench::name(item)}});
  bench.retire(Bench::name(item));
  EXPECT_EQ(bench.count(FillState::retiring), 1u);
  bench.node.verified(bench.now, bench.effects.verify.at(0).id, 0, bench.effects);
  EXPECT_EQ(bench.count(FillState::retiring), 0u);
  EXPECT_FALSE(bench.has_sent<ReportCorrupt>()) << "it is gone anyway";
}

TEST(NodeVerify, WhatIsRetiredBeforeItCouldBeReportedIsNot) {
  Bench bench;
  bench.join();
  const FillItem item = Bench::item(put(1));
  bench.store(item);
  bench.command(VerifyExtents{{Bench::name(item)}});
  bench.node.disconnected(bench.now);
  bench.node.verified(bench.now, bench.effects.verify.at(0).id, 0, bench.effects);
  bench.retire(Bench::name(item));
  bench.join();
  bench.tick(1s);
  EXPECT_FALSE(bench.has_sent<ReportCorrupt>());
}

TEST(NodeVerify, NoMoreThanTheBoundAtOnce) {
  Bench bench({.verifies_max = 1});
  bench.join();
  bench.store(Bench::item(put(1)));
  const ExtentName name = Bench::name(Bench::item(put(1)));
  bench.command(VerifyExtents{{name, name, name}});
  ASSERT_EQ(bench.effects.verify.size(), 1u);
  bench.end_read(bench.effects.verify[0].id);  // the driver could not
  bench.command(VerifyExtents{{name}});
  EXPECT_EQ(bench.effects.verify.size(), 2u);
}

}  // namespace
}  // namespace larder::test
