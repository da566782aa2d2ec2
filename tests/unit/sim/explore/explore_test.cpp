#include "sim/explore/explore.h"

#include <gtest/gtest.h>

namespace larder::sim {
namespace {

std::string text(const ExploreResult& result) {
  if (!result.first_failing) return "no violation";
  const Violation& first = result.first_failing->violations.front();
  return "seed " + std::to_string(result.first_failing->seed) + ": " +
         std::string(to_string(first.invariant)) + ": " + first.what;
}

TEST(Explore, NoFaultMakesAGetReturnWrongBytesOrThePoolLoseSpace) {
  const ExploreResult result = explore({.first_seed = 1, .seeds = 60});
  EXPECT_EQ(result.violations, 0u) << text(result);
  EXPECT_GT(result.puts_ok, 500u);
  EXPECT_GT(result.gets_ok, 2000u);
}

TEST(Explore, TheResultDoesNotDependOnTheNumberOfThreads) {
  const ExploreConfig one{.first_seed = 500, .seeds = 12, .threads = 1};
  ExploreConfig three = one;
  three.threads = 3;
  const ExploreResult a = explore(one);
  const ExploreResult b = explore(three);
  EXPECT_EQ(a.state_hash, b.state_hash);
  EXPECT_EQ(a.events, b.events);
  EXPECT_EQ(a.operations, b.operations);
}

TEST(Explore, StartsNoMoreThreadsThanThereAreSeeds) {
  const ExploreConfig config{
      .first_seed = 500, .seeds = 2, .threads = 1'000'000, .operations = 5};  // too many to start
  EXPECT_EQ(explore(config).seeds, 2u);
}

TEST(Explore, AnotherSeedIsAnotherWorld) {
  EXPECT_NE(explore({.first_seed = 1, .seeds = 1}).state_hash,
            explore({.first_seed = 2, .seeds = 1}).state_hash);
}

// A canary: a checker that finds nothing here would find nothing anywhere.
TEST(Explore, WithoutItsGuardsThePoolIsCaughtServingWrongBytes) {
  ExploreConfig config{.first_seed = 1, .seeds = 60};
  config.guards = {.state = false,
                   .lease = false,
                   .retirement = false,
                   .overlap = false,
                   .retired_put_ids = false,
                   .writer_waits = false,
                   .footer = false,
                   .checksum = false};
  const ExploreResult result = explore(config);
  ASSERT_TRUE(result.first_failing);
  EXPECT_EQ(result.first_failing->violations.front().invariant, Invariant::whole_bytes)
      << text(result);
}

}  // namespace
}  // namespace larder::sim
