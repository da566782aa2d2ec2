#include "proto/calibration/calibration.h"

#include <gtest/gtest.h>

#include <vector>

namespace larder {
namespace {

TEST(Figure, IsTheMiddleOneBetweenTheLeastAndTheGreatest) {
  EXPECT_EQ(figure_of({5, 1, 9}), (Figure{.value = 5, .low = 1, .high = 9}));
  EXPECT_EQ(figure_of({5, 1, 9, 7}), (Figure{.value = 5, .low = 1, .high = 9}));
  EXPECT_EQ(figure_of({3}), (Figure{.value = 3, .low = 3, .high = 3}));
}

TEST(Summary, CountsOfCallsThatCrossAnEndTheirPart) {
  const std::vector<TimedCall> calls{
      {.begin = Duration(-10), .end = Duration(10)},   // half of it
      {.begin = Duration(10), .end = Duration(30)},    // all
      {.begin = Duration(90), .end = Duration(130)},   // a quarter
      {.begin = Duration(-20), .end = Duration(0)},    // nothing
      {.begin = Duration(100), .end = Duration(120)},  // nothing
  };
  const WorkloadRun run = summary(calls, {1000}, Duration(100));
  EXPECT_EQ(run.moved, Bytes{1750});
  EXPECT_EQ(run.time, Duration(100));
  EXPECT_DOUBLE_EQ(run.bytes_per_second(), 17.5e9);
  // Timed are those that began there.
  EXPECT_EQ(run.calls, 2u);
  EXPECT_EQ(run.p50, Duration(40));
  EXPECT_EQ(run.p99, Duration(40));
}

TEST(Summary, TakesItsQuantilesFromAllCalls) {
  std::vector<TimedCall> calls;
  for (int i = 1; i <= 200; ++i) {
    calls.push_back({.begin = Duration(1000 * i), .end = Duration(1000 * i + i)});
  }
  const WorkloadRun run = summary(calls, {1}, Duration(1'000'000));
  EXPECT_EQ(run.p50, Duration(101));
  EXPECT_EQ(run.p99, Duration(199));
  EXPECT_EQ(run.moved, Bytes{200});
}

TEST(Summary, OfNothingIsNothing) {
  const WorkloadRun run = summary({}, {1}, Duration(5));
  EXPECT_EQ(run.calls, 0u);
  EXPECT_EQ(run.moved, Bytes{});
}

}  // namespace
}  // namespace larder
