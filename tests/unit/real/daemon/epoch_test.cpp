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

}  // namespace
}  // namespace larder::real
