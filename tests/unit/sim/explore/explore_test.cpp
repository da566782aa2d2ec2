#include "sim/explore/explore.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string_view>

#include "sim/explore/draw.h"

namespace larder::sim {
namespace {

std::string text(const ExploreResult& result) {
  if (!result.first_failing) return "no violation";
  const Violation& first = result.first_failing->run.violations.front();
  return "seed " + std::to_string(result.first_failing->seed) + ": " +
         std::string(to_string(first.invariant)) + ": " + first.what;
}

TEST(Explore, NoFaultMakesAGetReturnWrongBytesOrThePoolLoseSpace) {
  const ExploreResult result = explore({.first_seed = 1, .seeds = 60});
  EXPECT_EQ(result.violations, 0u) << text(result);
  EXPECT_GT(result.operations.puts_ok, 500u);
  EXPECT_GT(result.operations.gets_ok, 2000u);
}

TEST(Explore, ASeedHasAThousandOperationsAndTwentyAtOnce) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const SeedResult result = explore_seed(seed, {});
    std::size_t operations = 0;
    for (const Step& step : draw_scenario(seed, 1000).steps) {
      operations += std::holds_alternative<OperationStep>(step.what) ? 1 : 0;
    }
    EXPECT_GE(operations, 1000u) << "seed " << seed;
    EXPECT_GE(result.run.in_flight_max, 20u) << "seed " << seed;
  }
}

// Each kind of fault is somewhere in a few hundred seeds, and absent from most of them.
TEST(Explore, EverySeedHasItsOwnFaults) {
  std::map<std::string_view, int> seeds_with;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    std::set<std::string_view> here;
    for (const Step& step : draw_scenario(seed, 40).steps) {
      if (const Fault* fault = std::get_if<Fault>(&step.what)) here.insert(info(fault->kind).name);
    }
    for (const std::string_view name : here) ++seeds_with[name];
  }
  for (const FaultInfo& kind : all_faults()) {
    EXPECT_GE(seeds_with[kind.name], 5) << kind.name;
    EXPECT_LE(seeds_with[kind.name], 180) << kind.name;
  }
}

TEST(Explore, SeedsThatRunTwiceDoTheSameAgain) {
  ExploreConfig config{.first_seed = 300, .seeds = 10};
  config.twice = 1;
  const ExploreResult result = explore(config);
  EXPECT_EQ(result.violations, 0u) << text(result);
}

TEST(Explore, ItEndsWhenItIsTold) {
  const ExploreResult result =
      explore({.seeds = 1'000'000, .operations = 20}, [](std::uint64_t done) { return done < 3; });
  EXPECT_EQ(result.seeds, 3u);
}

TEST(Explore, E5OperationsThatBeganSucceededFailedOrWereLost) {
  const ExploreConfig config;
  OperationCounts all;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const OperationCounts counts = explore_seed(seed, config).run.operations;
    EXPECT_EQ(counts.began, counts.succeeded + counts.failed + counts.lost) << "seed " << seed;
    all += counts;
  }
  EXPECT_GT(all.succeeded, 0u);
  EXPECT_GT(all.failed, 0u);
  EXPECT_GT(all.lost, 0u);
}

TEST(Explore, E8TheResultDoesNotDependOnTheNumberOfThreads) {
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
  EXPECT_EQ(result.first_failing->run.violations.front().invariant, Invariant::whole_bytes)
      << text(result);
}

}  // namespace
}  // namespace larder::sim
