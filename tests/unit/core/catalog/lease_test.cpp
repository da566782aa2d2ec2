#include "core/catalog/lease.h"

#include <gtest/gtest.h>

namespace larder {
namespace {

using namespace std::chrono_literals;

class LeaseTest : public ::testing::Test {
 protected:
  std::uint32_t grant(Time now, Duration length) {
    lease.grant(now, now + length, rounds);
    return lease.round;
  }
  Lease lease;
  std::uint32_t rounds = 40;
  const Time start{100s};
};

TEST_F(LeaseTest, AFreshRecordIsNotLeased) {
  EXPECT_FALSE(lease.leased(start));
  EXPECT_EQ(lease.left(start), 0s);
}

TEST_F(LeaseTest, ItHoldsUntilItsEndAndNotAtIt) {
  grant(start, 10s);
  EXPECT_TRUE(lease.leased(start));
  EXPECT_TRUE(lease.leased(start + 10s - 1ns));
  EXPECT_FALSE(lease.leased(start + 10s));
  EXPECT_EQ(lease.left(start + 4s), 6s);
  EXPECT_EQ(lease.left(start + 10s), 0s);
}

TEST_F(LeaseTest, TheLaterEndOfARoundCounts) {
  grant(start, 10s);
  grant(start + 1s, 2s);
  EXPECT_EQ(lease.left(start + 1s), 9s);
  grant(start + 2s, 10s);
  EXPECT_EQ(lease.left(start + 2s), 10s);
}

TEST_F(LeaseTest, ItEndsWhenEveryGrantWasGivenBack) {
  const std::uint32_t round = grant(start, 10s);
  EXPECT_EQ(grant(start + 1s, 10s), round);
  lease.give_back(round);
  EXPECT_TRUE(lease.leased(start + 1s));
  lease.give_back(round);
  EXPECT_FALSE(lease.leased(start + 1s));
}

TEST_F(LeaseTest, AGiveBackOfAnotherRoundIsIgnored) {
  const std::uint32_t first = grant(start, 10s);
  const std::uint32_t second = grant(start + 10s, 10s);
  EXPECT_NE(first, second);
  lease.give_back(first);
  lease.give_back(second + 1);
  EXPECT_TRUE(lease.leased(start + 11s));
}

TEST_F(LeaseTest, ADoubledGiveBackMeetsNoLaterLease) {
  const std::uint32_t first = grant(start, 10s);
  lease.give_back(first);
  grant(start + 1s, 10s);
  lease.give_back(first);
  EXPECT_TRUE(lease.leased(start + 2s));
}

TEST_F(LeaseTest, B9CountsAreNeverNegative) {
  const std::uint32_t round = grant(start, 10s);
  for (int i = 0; i < 3; ++i) lease.give_back(round);
  EXPECT_EQ(lease.count, 0u);
  grant(start, 10s);
  EXPECT_TRUE(lease.leased(start));
}

TEST_F(LeaseTest, AbandonedGrantsAreForgottenAtTheEnd) {
  for (int i = 0; i < 5; ++i) grant(start, 10s);
  const std::uint32_t round = grant(start + 10s, 10s);
  EXPECT_EQ(lease.count, 1u);
  lease.give_back(round);
  EXPECT_FALSE(lease.leased(start + 11s));
}

TEST_F(LeaseTest, TheShortLeaseStandsBesideTheFullOne) {
  lease.exists_end = start + 1s;
  EXPECT_TRUE(lease.leased(start));
  EXPECT_FALSE(lease.held(start));
  EXPECT_FALSE(lease.leased(start + 1s));
  const std::uint32_t round = grant(start, 10s);
  EXPECT_EQ(lease.left(start), 10s);
  lease.give_back(round);
  EXPECT_EQ(lease.left(start), 1s) << "giving back the full one leaves the short one";
}

}  // namespace
}  // namespace larder
