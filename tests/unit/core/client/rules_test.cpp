#include "core/client/rules.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "core/client/endpoint_health.h"
#include "core/client/segment_cache.h"

namespace larder {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Time start{seconds(100)};

TEST(LeaseDeadline, IsOnePercentAndTwoMillisecondsShortCountedFromBeforeTheQuestion) {
  EXPECT_EQ(lease_deadline(start, seconds(10)), start + milliseconds(9898));
  EXPECT_EQ(lease_deadline(start, milliseconds(500)), start + milliseconds(493));
}

TEST(LeaseDeadline, OfALeaseTooShortToUseIsNotAfterTheQuestion) {
  EXPECT_EQ(lease_deadline(start, milliseconds(1)), start);
  EXPECT_EQ(lease_deadline(start, Duration(0)), start);
}

TEST(RetryDelay, DoublesFromTenToFiveHundredMilliseconds) {
  EXPECT_EQ(retry_delay(0, 0.0), milliseconds(5));
  EXPECT_EQ(retry_delay(1, 0.0), milliseconds(10));
  EXPECT_EQ(retry_delay(0, 0.5), Duration(milliseconds(15)) / 2);
  for (std::uint32_t attempt : {6u, 7u, 31u, 4'000'000'000u}) {
    EXPECT_EQ(retry_delay(attempt, 0.0), milliseconds(250));
    EXPECT_LE(retry_delay(attempt, 0.999), milliseconds(500));
  }
}

TEST(Repeatable, AreOnlyErrorsThatAskingAgainCanCure) {
  for (const ErrorCode code :
       {ErrorCode::busy, ErrorCode::client_not_found, ErrorCode::unavailable_in_current_status,
        ErrorCode::epoch_superseded}) {
    EXPECT_TRUE(is_repeatable(code));
  }
  for (const ErrorCode code :
       {ErrorCode::rpc_timeout, ErrorCode::rpc_fail, ErrorCode::put_in_flight,
        ErrorCode::invalid_write, ErrorCode::object_not_found, ErrorCode::no_available_handle}) {
    EXPECT_FALSE(is_repeatable(code));
  }
}

TEST(ChooseReplica, TakesTheReadersOwnHostFirst) {
  const std::array candidates{ReplicaCandidate{.usable = true},
                              ReplicaCandidate{.usable = true, .local = true},
                              ReplicaCandidate{.usable = true}};
  for (std::uint64_t spread = 0; spread < 10; ++spread) {
    EXPECT_EQ(choose_replica(candidates, spread), 1u);
  }
}

TEST(ChooseReplica, SpreadsOverTheUsableOnesAndTakesNoOther) {
  const std::array candidates{ReplicaCandidate{.usable = true},
                              ReplicaCandidate{.usable = false, .local = true},
                              ReplicaCandidate{.usable = true}};
  EXPECT_EQ(choose_replica(candidates, 0), 0u);
  EXPECT_EQ(choose_replica(candidates, 1), 2u);
  EXPECT_EQ(choose_replica(candidates, 2), 0u);
  EXPECT_EQ(choose_replica({}, 0), std::nullopt);
  EXPECT_EQ(choose_replica(std::array{ReplicaCandidate{}}, 0), std::nullopt);
}

TEST(NextStep, GoesToTheNextReplicaThenAsksAgainOnceThenGivesUp) {
  ReadProgress progress{.usable_replicas = 1,
                        .times_asked = 1,
                        .now = start,
                        .lease_deadline = start + seconds(1),
                        .deadline = start + seconds(2)};
  EXPECT_EQ(next_step(progress), NextStep::next_replica);
  progress.usable_replicas = 0;
  EXPECT_EQ(next_step(progress), NextStep::ask_again);
  progress.times_asked = 2;
  EXPECT_EQ(next_step(progress), NextStep::give_up);
}

TEST(NextStep, AfterTheLeaseNeedsANewListWhateverReplicasThereAre) {
  ReadProgress progress{.usable_replicas = 3,
                        .times_asked = 1,
                        .now = start + seconds(1),
                        .lease_deadline = start + seconds(1),
                        .deadline = start + seconds(2)};
  EXPECT_EQ(next_step(progress), NextStep::ask_again);
  progress.times_asked = 2;
  EXPECT_EQ(next_step(progress), NextStep::give_up);
}

TEST(NextStep, AfterTheDeadlineGivesUp) {
  EXPECT_EQ(next_step({.usable_replicas = 3,
                       .times_asked = 1,
                       .now = start,
                       .lease_deadline = start + seconds(1),
                       .deadline = start}),
            NextStep::give_up);
}

TEST(TransferDeadline, IsFiftyMegabytesASecondAndAStallInsideHalfToThreeQuartersOfWhatIsLeft) {
  const auto until = [](Bytes bytes, Duration left) {
    return transfer_deadline(
               {.bytes = bytes, .now = start, .deadline = start + left, .patience = seconds(2)}) -
           start;
  };
  EXPECT_EQ(until({1'000'000'000}, seconds(30)), seconds(22));
  EXPECT_EQ(until(1_KiB, seconds(10)), seconds(5));
  EXPECT_EQ(until(1_KiB, seconds(1)), milliseconds(750));
  EXPECT_EQ(until(1_KiB, Duration(2)), Duration(2));
  EXPECT_EQ(until(1_KiB, Duration(0)), Duration(0));
  EXPECT_EQ(until(1_KiB, -seconds(1)), -seconds(1));
  EXPECT_GT(transfer_deadline({.now = start, .deadline = time_never}), start);
}

TEST(EndpointHealth, B14LetsOneTryADeadEndpointOncePerRetryTime) {
  EndpointHealth health(seconds(1));
  EXPECT_TRUE(health.may_try("a", start));
  health.failed("a", start);
  EXPECT_FALSE(health.may_try("a", start + milliseconds(999)));
  EXPECT_TRUE(health.may_try("b", start));
  EXPECT_TRUE(health.may_try("a", start + seconds(1)));
  health.trying("a", start + seconds(1));
  EXPECT_FALSE(health.may_try("a", start + milliseconds(1999)));
  health.succeeded("a");
  EXPECT_TRUE(health.may_try("a", start + seconds(1)));
  health.trying("a", start + seconds(1));
  EXPECT_TRUE(health.may_try("a", start + seconds(1)));
}

TEST(EndpointHealth, RemembersABoundedNumberAndPrefersTheNewOnes) {
  EndpointHealth health(seconds(1));
  for (int i = 0; i < 5000; ++i) health.failed(std::to_string(i), start);
  EXPECT_FALSE(health.may_try("0", start));
  EXPECT_TRUE(health.may_try("4999", start));
  health.failed("new", start + seconds(1));
  EXPECT_FALSE(health.may_try("new", start + seconds(1)));
}

TEST(SegmentCache, ForgetsOnlyWhatNobodyUses) {
  SegmentCache cache(2);
  cache.add({.id = {0, 1}, .name = "one"});
  cache.add({.id = {0, 2}, .name = "two"});
  SegmentCache::Use one = cache.use({0, 1});
  const SegmentDescription* place = &*one;
  cache.add({.id = {0, 3}, .name = "three"});
  EXPECT_TRUE(cache.knows({0, 1}));
  EXPECT_FALSE(cache.knows({0, 2}));
  EXPECT_EQ(place->name, "one");
  EXPECT_FALSE(cache.use({0, 2}));
  one = {};
  cache.add({.id = {0, 4}, .name = "four"});
  EXPECT_EQ(cache.size(), 1u);
}

}  // namespace
}  // namespace larder
