#pragma once

#include <algorithm>

#include "tests/contract/world.h"

// What every transport promises of the bytes (core/ports/transport.h). A program that includes this
// runs it for each Kind that it instantiates TransportContract with.

namespace larder::contract {

// Into memory of every alignment, all in one call.
TEST_P(TransportContract, StatementA19_EachSizeFrom1To4097ArrivesByteForByte) {
  std::vector<std::unique_ptr<Object>> objects;
  std::vector<Object*> all;
  Bytes at;
  for (std::size_t size = 1; size <= 4097; ++size) {
    objects.push_back(std::make_unique<Object>(object(size, size, at)));
    all.push_back(objects.back().get());
    at = all.back()->end();
  }
  // Of fills that come at once, a node takes no more than it has slots.
  for (std::size_t i = 0; i < all.size(); i += 241) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(i);
    const auto count = static_cast<std::ptrdiff_t>(std::min<std::size_t>(241, all.size() - i));
    ASSERT_TRUE(put({begin, begin + count}));
  }
  std::vector<std::vector<std::byte>> into;
  Read read;
  for (Object* each : all) {
    ASSERT_TRUE(each->result) << each->result.error().message();
    const std::size_t size = each->value.size();
    into.emplace_back(size + 64);
    read.ranges.push_back(each->read(0_B, Slice(into.back()).subspan(size % 64, size)));
  }
  ASSERT_TRUE(run(read));
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_TRUE(all[i]->result) << all[i]->result.error().message();
    ASSERT_TRUE(std::ranges::equal(all[i]->into_slice, all[i]->value)) << all[i]->value.size();
    const std::size_t begin = all[i]->value.size() % 64;
    EXPECT_TRUE(std::ranges::all_of(std::span(into[i]).first(begin),
                                    [](std::byte b) { return b == std::byte{0}; }));
    EXPECT_TRUE(std::ranges::all_of(std::span(into[i]).subspan(begin + all[i]->value.size()),
                                    [](std::byte b) { return b == std::byte{0}; }));
    if (GetParam().node_is_asked) EXPECT_EQ(all[i]->got_checksum, checksum(all[i]->value));
    if (all[i]->computed) EXPECT_EQ(all[i]->computed, checksum(all[i]->value));
  }
}

TEST_P(TransportContract, StatementA19_ValuesAround16MiBInOddSlicesArriveByteForByte) {
  Bytes at;
  std::uint64_t number = 1;
  for (const std::size_t size : {(16u << 20) - 1, 16u << 20, (16u << 20) + 1}) {
    Object large = object(number++, size, at);
    large.cut(65'537);
    ASSERT_TRUE(put({&large}));
    ASSERT_TRUE(large.result) << large.result.error().message();
    std::vector<std::byte> into(size + 1);
    ASSERT_TRUE(run(Read{{large.read(0_B, Slice(into).subspan(1))}}));
    ASSERT_TRUE(large.result) << large.result.error().message();
    EXPECT_TRUE(std::ranges::equal(large.into_slice, large.value));
    at = large.end().rounded_up(4096);
  }
}

TEST_P(TransportContract, ARangeIsReadIntoManySlices) {
  Object whole = object(1, 10'000);
  ASSERT_TRUE(put({&whole}));
  std::vector<std::byte> into(5'000);
  std::vector<Slice> slices;
  for (std::size_t i = 0; i < into.size(); i += 7) {
    slices.push_back(Slice(into).subspan(i, std::min<std::size_t>(7, into.size() - i)));
  }
  ReadRange range = whole.read(Bytes{1'234}, into);
  range.into = slices;
  ASSERT_TRUE(run(Read{{range}}));
  ASSERT_TRUE(whole.result);
  EXPECT_TRUE(std::ranges::equal(into, std::span(whole.value).subspan(1'234, 5'000)));
}

TEST_P(TransportContract, ARefusedItemInTheMiddleHarmsNoOther) {
  Object first = object(1, 100'000);
  Object overlaps = object(2, 200'000, 64_B);
  Object wrong_segment = object(3, 300'000, 1_MiB);
  Object last = object(4, 100'000, 2_MiB);
  Fill fill = fill_of({&first, &overlaps, &wrong_segment, &last});
  fill.ranges[2].item.location.segment = {7, 7};
  ASSERT_TRUE(run(fill));
  EXPECT_TRUE(first.result);
  EXPECT_EQ(overlaps.result.error().code(), ErrorCode::fill_refused);
  EXPECT_EQ(wrong_segment.result.error().code(), ErrorCode::segment_not_found);
  EXPECT_TRUE(last.result);
  EXPECT_EQ(get(first), first.value);
  EXPECT_EQ(get(last), last.value);
}

TEST_P(TransportContract, AMissingReplicaBetweenTwoOthersHarmsNeither) {
  if (!GetParam().node_is_asked) GTEST_SKIP() << "the reader judges by the footer";
  Object first = object(1, 5'000);
  Object missing = object(2, 5'000, 64_KiB);
  Object last = object(3, 5'000, 128_KiB);
  ASSERT_TRUE(put({&first, &last}));
  std::vector<std::byte> a(5'000), b(5'000), c(5'000);
  ASSERT_TRUE(run(Read{{first.read(0_B, a), missing.read(0_B, b), last.read(0_B, c)}}));
  EXPECT_TRUE(first.result);
  EXPECT_EQ(missing.result.error().code(), ErrorCode::replica_is_gone);
  EXPECT_TRUE(last.result);
  EXPECT_EQ(a, first.value);
  EXPECT_EQ(c, last.value);
  EXPECT_EQ(b, std::vector<std::byte>(5'000));
}

TEST_P(TransportContract, StatementA15_AByteThatIsFlippedOnItsWayInIsNotSealed) {
  Object flipped = object(1, 10'000);
  FillRange range = flipped.fill();
  flipped.value[5'000] ^= std::byte{1};
  ASSERT_TRUE(run(Fill{&world->segment(), {range}}));
  ASSERT_FALSE(flipped.result);
  EXPECT_EQ(flipped.result.error().code(), ErrorCode::checksum_mismatch);
  EXPECT_EQ(sealed(), 0u);
}

// What the reader is given to compare: the writer's checksum, and the bytes as they are now.
TEST_P(TransportContract, StatementA15_AStoredByteThatFlippedIsSeenByTheReader) {
  Object stored = object(1, 10'000);
  ASSERT_TRUE(put({&stored}));
  world->stored(Bytes{5'000}) ^= std::byte{1};
  const auto got = get(stored);
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_NE(checksum(*got), checksum(stored.value));
  if (stored.computed) EXPECT_EQ(*stored.computed, checksum(*got));
  if (GetParam().node_is_asked) EXPECT_EQ(stored.got_checksum, checksum(stored.value));
}

TEST_P(TransportContract, StatementA15_WithoutAChecksumNothingIsHashed) {
  Object plain = object(1, 10'000);
  FillRange range = plain.fill();
  range.item.checksum.reset();
  ASSERT_TRUE(run(Fill{&world->segment(), {range}}));
  ASSERT_TRUE(plain.result) << plain.result.error().message();
  std::vector<std::byte> into(10'000);
  ReadRange read = plain.read(0_B, into);
  read.computed = nullptr;
  ASSERT_TRUE(run(Read{{read}}));
  EXPECT_EQ(into, plain.value);
  EXPECT_FALSE(plain.got_checksum);
  EXPECT_FALSE(plain.computed);
}

TEST_P(TransportContract, AFillInPartsIsReadableOnlyWhenTheLastIsIn) {
  Object whole = object(1, 10'000);
  const std::vector<ConstSlice> halves{ConstSlice(whole.value).first(4'000),
                                       ConstSlice(whole.value).subspan(4'000)};
  FillRange part = whole.fill();
  part.from = std::span(&halves[0], 1);
  part.item.part_length = {4'000};
  part.item.last_part = false;
  part.item.checksum.reset();
  ASSERT_TRUE(run(Fill{&world->segment(), {part}}));
  ASSERT_TRUE(whole.result) << whole.result.error().message();
  EXPECT_EQ(sealed(), 0u);
  part = whole.fill();
  part.from = std::span(&halves[1], 1);
  part.item.part_offset = {4'000};
  part.item.part_length = {6'000};
  ASSERT_TRUE(run(Fill{&world->segment(), {part}}));
  ASSERT_TRUE(whole.result) << whole.result.error().message();
  EXPECT_EQ(get(whole), whole.value);
}

TEST_P(TransportContract, TheChecksumOfPartsInOneTransferCoversThemAll) {
  Object whole = object(1, 10'000);
  const std::vector<ConstSlice> halves{ConstSlice(whole.value).first(4'000),
                                       ConstSlice(whole.value).subspan(4'000)};
  Status first_result = failed(ErrorCode::internal_error);
  FillRange first = whole.fill();
  first.from = std::span(&halves[0], 1);
  first.item.part_length = {4'000};
  first.item.last_part = false;
  first.item.checksum.reset();
  first.result = &first_result;
  FillRange last = whole.fill();
  last.from = std::span(&halves[1], 1);
  last.item.part_offset = {4'000};
  last.item.part_length = {6'000};
  whole.value[0] ^= std::byte{1};
  ASSERT_TRUE(run(Fill{&world->segment(), {first, last}}));
  EXPECT_TRUE(first_result);
  ASSERT_FALSE(whole.result);
  EXPECT_EQ(whole.result.error().code(), ErrorCode::checksum_mismatch);
}

TEST_P(TransportContract, ARepeatedFillOfASealedPutIsSealed) {
  Object twice = object(1, 10'000);
  ASSERT_TRUE(put({&twice}));
  ASSERT_TRUE(put({&twice}));
  EXPECT_TRUE(twice.result);
}

TEST_P(TransportContract, ManyTransfersAtOnceAllEndOnce) {
  std::vector<std::unique_ptr<Object>> objects;
  std::vector<Waiter> waiters(50);
  for (std::size_t i = 0; i < waiters.size(); ++i) {
    objects.push_back(std::make_unique<Object>(object(i + 1, 100'000, Bytes{i * 128 * 1024})));
    submit(Fill{&world->segment(), {objects[i]->fill()}}, waiters[i]);
  }
  ASSERT_TRUE(run_until([&] {
    return std::ranges::all_of(waiters, [](Waiter& w) { return w.status.has_value(); });
  }));
  for (const auto& each : objects) EXPECT_EQ(get(*each), each->value);
}

}  // namespace larder::contract
