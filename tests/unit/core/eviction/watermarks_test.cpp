#include "core/eviction/watermarks.h"

#include <gtest/gtest.h>

#include <limits>

namespace larder {
namespace {

TEST(Watermarks, NothingIsFreedUpToTheHighOneAndDownToTheLowOneBeyond) {
  const Watermarks marks;
  EXPECT_EQ(bytes_to_free(marks, {.capacity = 1000_B, .allocated = 950_B}), 0_B);
  EXPECT_EQ(bytes_to_free(marks, {.capacity = 1000_B, .allocated = 951_B}), 51_B);
}

TEST(Watermarks, QuarantinedBytesCountAsFree) {
  const SpaceUse use{.capacity = 1000_B, .allocated = 1000_B, .quarantined = 60_B};
  EXPECT_EQ(bytes_to_free({}, use), 0_B);
}

TEST(Watermarks, WaitingPutsCountAsUsed) {
  const SpaceUse use{.capacity = 1000_B, .allocated = 940_B, .waiting = 20_B};
  EXPECT_EQ(bytes_to_free({}, use), 60_B);
}

TEST(Watermarks, APutThatWaitsBelowTheHighOneStillGetsRoomUnlessQuarantineHoldsIt) {
  SpaceUse use{.capacity = 1000_B, .allocated = 500_B, .waiting = 100_B};
  EXPECT_EQ(bytes_to_free({}, use), 100_B);
  use.quarantined = 100_B;
  EXPECT_EQ(bytes_to_free({}, use), 0_B);
}

TEST(Watermarks, NeverMoreIsAskedForThanIsUsed) {
  const SpaceUse use{.capacity = 1000_B, .allocated = 10_B, .waiting = 5000_B};
  EXPECT_EQ(bytes_to_free({}, use), 10_B);
}

TEST(Watermarks, AnEmptyPoolOwesNothing) { EXPECT_EQ(bytes_to_free({}, {}), 0_B); }

TEST(Watermarks, WrongOnesAreRefused) {
  EXPECT_TRUE(Watermarks{}.check());
  EXPECT_TRUE((Watermarks{.high = 1, .low = 1}).check());
  for (const Watermarks& wrong :
       {Watermarks{.high = 0.8, .low = 0.9}, Watermarks{.high = 1.1, .low = 0.9},
        Watermarks{.high = 0.9, .low = -0.1},
        Watermarks{.high = std::numeric_limits<double>::quiet_NaN(), .low = 0.9}}) {
    const Status status = wrong.check();
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code(), ErrorCode::invalid_params);
  }
}

}  // namespace
}  // namespace larder
