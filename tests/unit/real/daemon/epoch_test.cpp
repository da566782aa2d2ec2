#include "real/daemon/epoch.h"

#include <gtest/gtest.h>

namespace larder::real {
namespace {

TEST(NextEpoch, FollowsTheWallClockAndIsAlwaysLaterThanTheLast) {
  EXPECT_EQ(next_epoch(1000, {}, 7).value, 1000u << 16 | 7);
  const Epoch ahead{2000u << 16 | 0xffff};
  EXPECT_GT(next_epoch(1000, ahead, 0), ahead) << "the clock was set back";
  EXPECT_GT(next_epoch(2000, ahead, 0), ahead) << "in the same millisecond";
}

}  // namespace
}  // namespace larder::real
