#pragma once

#include <algorithm>

#include "tests/contract/world.h"

// What every transport promises of the end of a transfer: by its deadline, by its caller, and of
// what has been retired. As tests/contract/moves_bytes.h.

namespace larder::contract {

inline constexpr std::size_t long_size = 64 << 20;

TEST_P(TransportContract, AfterRetirementNeitherReadNorFillTouchesTheExtent) {
  Object gone = object(1, 10'000);
  ASSERT_TRUE(put({&gone}));
  world->retire(gone.extent());
  ASSERT_TRUE(run_until([&] { return sealed() == 0; }));
  if (GetParam().node_is_asked) {
    const auto got = get(gone);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code(), ErrorCode::replica_is_gone);
  }
  ASSERT_TRUE(put({&gone}));
  ASSERT_FALSE(gone.result);
  EXPECT_EQ(gone.result.error().code(), ErrorCode::fill_refused);
}

// Guard 3 of the design: space is not given out while somebody reads there.
TEST_P(TransportContract, ARetirementIsNotConfirmedWhileAReadOfTheExtentIsInFlight) {
  if (!GetParam().node_is_asked) GTEST_SKIP() << "the reader judges by the footer";
  Object read = object(1, long_size);
  ASSERT_TRUE(put({&read}));
  std::vector<std::byte> into(long_size);
  Waiter waiter;
  submit(Read{{read.read(0_B, into)}}, waiter);
  ASSERT_TRUE(run_until([&] { return world->status().reads_in_flight == 1; }));
  world->retire(read.extent());
  ASSERT_TRUE(run_until([&] {
    const NodeStatus status = world->status();
    const bool held = status.extents[static_cast<std::size_t>(FillState::retiring)] == 1;
    EXPECT_EQ(held, status.reads_in_flight == 1);
    return waiter.status.has_value() && !held;
  }));
  EXPECT_TRUE(read.result);
  EXPECT_EQ(into, read.value);
}

TEST_P(TransportContract, APastDeadlineEndsTheTransferWithItsItems) {
  Object late = object(1, long_size);
  Waiter waiter;
  submit(Fill{&world->segment(), {late.fill()}}, waiter, Duration(0));
  ASSERT_TRUE(run_until([&] { return waiter.status.has_value(); }));
  ASSERT_FALSE(*waiter.status);
  EXPECT_EQ(waiter.status->error().code(), ErrorCode::transfer_fail);
  EXPECT_EQ(late.result.error().code(), ErrorCode::transfer_fail);
}

// The buffer is the caller's again: what is done to it then gets nowhere.
TEST_P(TransportContract, StatementA6_AFillThatTimedOutReadsItsBufferNoMore) {
  std::unique_ptr<Object> late;
  run_too_late([&](std::uint64_t number) -> Transfer {
    if (late) world->retire(late->extent());
    run_until([&] { return sealed() == 0; });
    late = std::make_unique<Object>(object(number, long_size));
    late->cut(1 << 20);
    FillRange range = late->fill();
    range.item.checksum.reset();  // so that wrong bytes would be sealed
    return Fill{&world->segment(), {range}};
  });
  const std::vector<std::byte> before = late->value;
  std::ranges::fill(late->value, std::byte{0xdd});
  ASSERT_TRUE(run_until([&] { return world->status().fills_in_flight == 0; }));
  run_for(std::chrono::milliseconds(50));
  const bool whole = sealed() == 1;  // the node had it all before the writer gave up
  if (whole) EXPECT_EQ(get(*late), before);
}

TEST_P(TransportContract, StatementA21_AReadThatTimedOutChangesNoByteAfterwards) {
  Object stored = object(1, long_size);
  ASSERT_TRUE(put({&stored}));
  std::vector<std::byte> into(long_size);
  run_too_late([&](std::uint64_t) -> Transfer { return Read{{stored.read(0_B, into)}}; });
  std::ranges::fill(into, std::byte{0xdd});
  run_for(std::chrono::milliseconds(50));
  EXPECT_TRUE(std::ranges::all_of(into, [](std::byte b) { return b == std::byte{0xdd}; }));
  EXPECT_EQ(get(stored), stored.value);  // others go on
}

TEST_P(TransportContract, StatementA21_AnAbandonedReadChangesNoByteAfterwards) {
  if (!GetParam().node_is_asked) GTEST_SKIP() << "the node does not know of it";
  Object stored = object(1, long_size);
  ASSERT_TRUE(put({&stored}));
  std::vector<std::byte> into(long_size);
  Waiter waiter;
  submit(Read{{stored.read(0_B, into)}}, waiter);
  ASSERT_TRUE(run_until([&] { return world->status().reads_in_flight == 1; }));
  world->transport().abandon(waiter, nullptr);
  const auto before = into;
  EXPECT_TRUE(run_until([&] { return world->status().reads_in_flight == 0; }));
  EXPECT_EQ(get(stored), stored.value);
  EXPECT_EQ(into, before);
  EXPECT_FALSE(waiter.status);
}

TEST_P(TransportContract, StatementA6_AnAbandonedFillIsNotSealedAndLeavesNothingOpen) {
  Object given_up = object(1, long_size);
  {
    Waiter waiter;
    submit(Fill{&world->segment(), {given_up.fill()}}, waiter);
    ASSERT_TRUE(run_until([&] { return world->status().fills_in_flight == 1; }));
    world->transport().abandon(waiter, nullptr);
    given_up.value.assign(given_up.value.size(), std::byte{0});
    EXPECT_FALSE(waiter.status);
  }
  EXPECT_TRUE(run_until([&] { return world->status().fills_in_flight == 0; }));
  EXPECT_EQ(sealed(), 0u);
}

TEST_P(TransportContract, AbandoningWhatNeverBeganIsHarmless) {
  Object never = object(1, 1'000);
  Waiter waiter;
  submit(Fill{&world->segment(), {never.fill()}}, waiter);
  world->transport().abandon(waiter, nullptr);
  world->transport().abandon(waiter, nullptr);
  run_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(waiter.status);
}

}  // namespace larder::contract
