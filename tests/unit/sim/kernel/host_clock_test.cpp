#include "sim/kernel/host_clock.h"

#include <gtest/gtest.h>

#include <chrono>

#include "core/base/random.h"

namespace larder::sim {
namespace {

using namespace std::chrono_literals;

Instant instant(Duration since_begin) { return Instant(since_begin); }

TEST(HostClock, ShowsOffsetPlusRateTimesWorldTime) {
  const HostClock clock({.offset = 7s, .parts_per_billion = 5'000'000});
  EXPECT_EQ(clock.at(instant(0s)), Time(7s));
  EXPECT_EQ(clock.at(instant(1000s)), Time(7s + 1005s));
  const HostClock slow({.offset = -7s, .parts_per_billion = -5'000'000});
  EXPECT_EQ(slow.at(instant(1000s)), Time(-7s + 995s));
}

TEST(HostClock, WhenIsTheFirstInstantAtWhichTheTimeIsReached) {
  Random random(3);
  for (int round = 0; round < 20'000; ++round) {
    HostClock clock({.offset = Duration(random.below(1'000'000)) - 500us,
                     .parts_per_billion =
                         static_cast<std::int64_t>(random.below(1'000'000'000)) - 500'000'000});
    const Instant now = instant(Duration(random.below(1'000'000)));
    if (random.chance(0.5)) {
      clock.set_rate(now, static_cast<std::int64_t>(random.below(20'000'000)) - 10'000'000);
    }
    const Time wanted = clock.at(now) + Duration(1 + random.below(1'000'000'000));
    const Instant due = clock.when(wanted);
    ASSERT_GT(due, now);
    ASSERT_GE(clock.at(due), wanted);
    ASSERT_LT(clock.at(due - 1ns), wanted);
  }
}

TEST(HostClock, IsContinuousWhenItsRateChangesAndNeverGoesBack) {
  HostClock clock({.parts_per_billion = -3'333'333});
  Random random(4);
  Instant now{};
  Time shown = clock.at(now);
  for (int round = 0; round < 20'000; ++round) {
    now += Duration(random.below(1000));
    ASSERT_GE(clock.at(now), shown);
    shown = clock.at(now);
    if (random.chance(0.2)) {
      clock.set_rate(now, static_cast<std::int64_t>(random.below(20'000'000)) - 10'000'000);
      ASSERT_EQ(clock.at(now), shown);
    }
    if (random.chance(0.01)) {
      clock.jump(now, 5ms);
      ASSERT_EQ(clock.at(now), shown + 5ms);
    }
  }
}

TEST(HostClock, WhatIsNeverReachedIsNever) {
  const HostClock slow({.parts_per_billion = -500'000'000});
  EXPECT_EQ(slow.when(time_never), instant_never);
  EXPECT_EQ(slow.when(time_never - 1ns), instant_never);
  EXPECT_LE(slow.when(Time(-1s)), instant(0s));
}

}  // namespace
}  // namespace larder::sim
