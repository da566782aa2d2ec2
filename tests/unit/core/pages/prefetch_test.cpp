#include "core/pages/prefetch.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

#include "core/pages/leading_pages.h"

namespace larder {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::size_t leading(std::vector<int> has, std::size_t objects = 1) {
  return leading_pages({.count = has.size() / objects, .objects = objects},
                       [&](std::size_t index) { return has[index] != 0; });
}

TEST(LeadingPages, F2EndAtTheFirstThatIsNotThere) {
  EXPECT_EQ(leading({1, 1, 0, 1, 1}), 2);
  EXPECT_EQ(leading({0, 1, 1}), 0);
  EXPECT_EQ(leading({1, 1, 1}), 3);
  EXPECT_EQ(leading({}), 0);
}

TEST(LeadingPages, F2AreThereOnlyWithEachOfTheirObjects) {
  EXPECT_EQ(leading({1, 1, 1, 0, 1, 1}, 2), 1);                    // K without V
  EXPECT_EQ(leading({1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1}, 4), 1);  // one of two ranks
}

TEST(Prefetch, F7TheTimeGrowsWithTheTokensUpToItsEnd) {
  const PrefetchRules rules;
  EXPECT_EQ(prefetch_timeout(rules, 0), seconds(2));
  EXPECT_EQ(prefetch_timeout(rules, 1024), milliseconds(2'100));
  EXPECT_EQ(prefetch_timeout(rules, 512), milliseconds(2'050));
  EXPECT_EQ(prefetch_timeout(rules, 1), seconds(2) + Duration(97'656));  // 10^8 / 1024
  EXPECT_EQ(prefetch_timeout(rules, 280 * 1024), seconds(30));
  EXPECT_EQ(prefetch_timeout(rules, 281 * 1024), seconds(30));
  EXPECT_EQ(prefetch_timeout(rules, ~std::uint64_t{0}), seconds(30));
  PrefetchRules short_end = rules;
  short_end.longest = milliseconds(1'500);
  EXPECT_EQ(prefetch_timeout(short_end, 4096), milliseconds(1'500));
}

TEST(Prefetch, F7OnlyTheTimeoutEndsAWaitThatNothingElseEnds) {
  const auto waits = [](PrefetchPolicy policy, Duration since, bool ended) {
    return waits_for_prefetch({.policy = policy},
                              {.since_asked = since, .tokens = 1024, .ended = ended});
  };
  EXPECT_FALSE(waits(PrefetchPolicy::best_effort, seconds(0), false));
  EXPECT_TRUE(waits(PrefetchPolicy::wait_complete, seconds(3'600), false));
  EXPECT_FALSE(waits(PrefetchPolicy::wait_complete, seconds(0), true));
  EXPECT_TRUE(waits(PrefetchPolicy::timeout, milliseconds(2'099), false));
  EXPECT_FALSE(waits(PrefetchPolicy::timeout, milliseconds(2'100), false));
  EXPECT_FALSE(waits(PrefetchPolicy::timeout, seconds(0), true));
}

TEST(Prefetch, NotYetAnsweredIsNotComplete) {
  const PrefetchState unanswered{.since_asked = milliseconds(1'999)};
  EXPECT_TRUE(waits_for_prefetch({.policy = PrefetchPolicy::wait_complete}, unanswered));
  EXPECT_TRUE(waits_for_prefetch({.policy = PrefetchPolicy::timeout}, unanswered));
  EXPECT_FALSE(
      waits_for_prefetch({.policy = PrefetchPolicy::timeout}, {.since_asked = seconds(2)}));
}

TEST(Prefetch, PoliciesHaveNames) {
  for (const auto policy :
       {PrefetchPolicy::best_effort, PrefetchPolicy::wait_complete, PrefetchPolicy::timeout}) {
    EXPECT_EQ(prefetch_policy_named(prefetch_policy_name(policy)), policy);
  }
  EXPECT_EQ(prefetch_policy_name(PrefetchPolicy::wait_complete), "wait-complete");
  EXPECT_FALSE(prefetch_policy_named("wait_complete"));
}

}  // namespace
}  // namespace larder
