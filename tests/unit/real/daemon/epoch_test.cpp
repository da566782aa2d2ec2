#include "real/daemon/epoch.h"

#include <gtest/gtest.h>

#include <string>

namespace larder::real {
namespace {

TEST(NextEpoch, FollowsTheWallClockAndIsAlwaysLaterThanTheLast) {
  EXPECT_EQ(next_epoch(1000, {}, 7)->value, 1000u << 16 | 7);
  const Epoch ahead{2000u << 16 | 0xffff};
  EXPECT_GT(next_epoch(1000, ahead, 0).value(), ahead) << "the clock was set back";
  EXPECT_GT(next_epoch(2000, ahead, 0).value(), ahead) << "in the same millisecond";
}

TEST(NextEpoch, DoesNotWrapAround) {
  const Epoch last_but_one{((std::uint64_t{1} << 48) - 2) << 16};
  EXPECT_GT(next_epoch(1000, last_but_one, 0).value(), last_but_one);
  for (const Epoch last : {Epoch{((std::uint64_t{1} << 48) - 1) << 16}, Epoch{~std::uint64_t{0}}}) {
    const Result<Epoch> next = next_epoch(1000, last, 0);
    ASSERT_FALSE(next);
    EXPECT_NE(next.error().message().find(std::to_string(last.value)), std::string::npos);
  }
}

constexpr std::uint64_t now_ms = 1'700'000'000'000;
constexpr Epoch at(std::uint64_t clock_ms) { return {clock_ms << 16}; }

TEST(ShownEpoch, OfAMasterWithAClockThatIsADayAheadIsBelieved) {
  const Epoch own = at(now_ms - 1000);
  EXPECT_TRUE(check_shown_epoch(
      {.shown = at(now_ms + epoch_ahead_ms_max), .own = own, .wall_clock_ms = now_ms}));
  EXPECT_TRUE(check_shown_epoch({.shown = at(1), .own = own, .wall_clock_ms = now_ms}));
  EXPECT_TRUE(check_shown_epoch({.shown = own, .own = own, .wall_clock_ms = 0}));
}

TEST(ShownEpoch, ThatNoClockCanHaveGivenIsRefusedWithTheWayOut) {
  for (const Epoch shown : {Epoch{~std::uint64_t{0}}, at(now_ms + epoch_ahead_ms_max + 1)}) {
    const Status believed =
        check_shown_epoch({.shown = shown, .own = at(now_ms), .wall_clock_ms = now_ms});
    ASSERT_FALSE(believed);
    EXPECT_EQ(believed.error().code(), ErrorCode::invalid_params);
    EXPECT_NE(believed.error().message().find("--epoch-after " + std::to_string(shown.value)),
              std::string::npos);
  }
}

TEST(ShownEpoch, IsMeasuredAgainstAnEpochThatAnOperatorHasSetAheadOfTheClock) {
  const Epoch own = at(now_ms * 2);  // --epoch-after
  EXPECT_TRUE(
      check_shown_epoch({.shown = at(now_ms * 2 + 5), .own = own, .wall_clock_ms = now_ms}));
  EXPECT_FALSE(check_shown_epoch({.shown = at(now_ms * 3), .own = own, .wall_clock_ms = now_ms}));
}

}  // namespace
}  // namespace larder::real
