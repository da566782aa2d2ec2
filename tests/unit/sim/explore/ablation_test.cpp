#include "sim/explore/ablation.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "sim/explore/draw.h"
#include "sim/explore/guard_names.h"
#include "sim/explore/run.h"
#include "sim/explore/scenario.h"
#include "sim/explore/scenario_text.h"

namespace larder::sim {
namespace {

AblationResult result_of(
    const std::vector<std::pair<std::vector<std::size_t>, std::uint64_t>>& seeds) {
  const std::size_t guards = guard_names().size();
  AblationResult result{.seeds = 100, .all = std::vector<Ablated>(1)};
  for (std::size_t a = 0; a < guards; ++a) result.all.push_back({.off = {a}});
  for (std::size_t a = 0; a < guards; ++a) {
    for (std::size_t b = a + 1; b < guards; ++b) result.all.push_back({.off = {a, b}});
  }
  for (Ablated& each : result.all) {
    for (const auto& [off, count] : seeds) {
      if (each.off == off) each.wrong = {.reads = 2 * count, .seeds = count};
    }
  }
  return result;
}

std::size_t guard(std::string_view name) {
  for (std::size_t i = 0; i < guard_names().size(); ++i) {
    if (guard_names()[i].name == name) return i;
  }
  ADD_FAILURE() << "no guard " << name;
  return 0;
}

TEST(Ablation, AGuardIsRedundantIfNoPairShowsMoreThanItsPartnerAlone) {
  // All but `lease` have a pair with the first one that shows more.
  std::vector<std::pair<std::vector<std::size_t>, std::uint64_t>> seeds;
  for (std::size_t i = 0; i < guard_names().size(); ++i) {
    seeds.push_back({{i}, 3});
    if (i > 0) seeds.push_back({{0, i}, i == guard("lease") ? 3u : 4u});
  }
  EXPECT_EQ(result_of(seeds).redundant(), std::vector{guard("lease")});
  const std::string text = to_markdown(result_of(seeds));
  EXPECT_NE(text.find("Redundant here"), std::string::npos) << text;
  EXPECT_NE(text.find("| **6 in 3** |"), std::string::npos) << "alone, on the diagonal\n" << text;
}

// Canaries: what a guard prevents is still seen when it is off. Each finds its wrong read in few
// seeds.
TEST(Ablation, WithoutAGuardReadsAreWrongWithinAFewSeeds) {
  const ThrowingAssertions throwing;
  for (const std::vector<std::string_view>& off :
       std::vector<std::vector<std::string_view>>{{"state"},
                                                  {"footer"},
                                                  {"checksum"},
                                                  {"retirement", "overlap"},
                                                  {"overlap", "retired-put-ids"}}) {
    Guards guards;
    for (const std::string_view name : off) guards.*guard_named(name) = false;
    bool wrong = false;
    for (std::uint64_t seed = 1; seed <= 60 && !wrong; ++seed) {
      wrong =
          run_scenario(draw_scenario(seed, 1000), {.guards = guards, .stops_at_wrong_read = true})
              .wrong_reads > 0;
    }
    EXPECT_TRUE(wrong) << off.front();
  }
}

// The same for those that drawn worlds show in few seeds only: worlds shrunk to what it takes.
RunResult run_without(std::string_view scenario, const std::vector<std::string_view>& off) {
  const auto parsed = parse_scenario(scenario, "canary");
  EXPECT_TRUE(parsed) << parsed.error().message();
  Guards guards;
  for (const std::string_view name : off) guards.*guard_named(name) = false;
  return run_scenario(*parsed, {.guards = guards});
}

// Two reads take longer than their lease; meanwhile the object is evicted and its place given out.
TEST(Ablation, AReadThatOutlivesItsLeaseIsStoppedByTheLeaseOrByTheFooter) {
  constexpr std::string_view scenario = R"(seed 34
no-checksum
values up to 8KiB
chunk 630B
nic 256KiB each second
node0 20KiB
client0
at 3.875ms client0 put key5 3298B
at 3.875ms client0 put key3 5280B
at 46.875ms client0 get key3
at 46.875ms client0 get key3
at 46.875ms client0 put key7 6133B, key6 8162B
)";
  EXPECT_GT(run_without(scenario, {"lease", "footer"}).wrong_reads, 0u);
  EXPECT_EQ(run_without(scenario, {"lease"}).wrong_reads, 0u);
  EXPECT_EQ(run_without(scenario, {"footer"}).wrong_reads, 0u);
  EXPECT_TRUE(run_without(scenario, {}).violations.empty());
}

// The fills of a put that has given up arrive; nobody will ever end or retire what they seal.
TEST(Ablation, WhatIsSealedAfterItsWriterGaveUpIsNeverFreeAgain) {
  constexpr std::string_view scenario = R"(seed 57
values up to 512B
nic 256KiB each second
node0 10752B
client0
links reorder 0.498
at 2ms client0 put key11 29B, key13 64B, key4 64B, key7 64B within 15.762ms
)";
  EXPECT_FALSE(run_without(scenario, {"writer-waits"}).violations.empty());
  EXPECT_TRUE(run_without(scenario, {}).violations.empty());
}

TEST(Ablation, DoesNotDependOnThreads) {
  const AblationConfig one{.first_seed = 5, .seeds = 3, .operations = 120, .explained = 1};
  AblationConfig three = one;
  three.threads = 3;
  EXPECT_EQ(to_markdown(ablate(one)), to_markdown(ablate(three)));
}

TEST(Ablation, EndsWhenItIsToldAndCountsTheSeedsThatAllHaveRun) {
  std::uint64_t runs = 0;
  const AblationResult result =
      ablate({.seeds = 1'000, .operations = 20}, [&](double) { return ++runs < 2 * 37 + 5; });
  EXPECT_EQ(result.seeds, 2u);
}

TEST(FaultsOfScenarios, EachCanBeTakenOut) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Scenario scenario = draw_scenario(seed, 40);
    for (const FaultOfScenario& fault : faults_of_scenarios()) {
      fault.take_out(scenario);
      EXPECT_FALSE(fault.is_in(scenario)) << fault.name();
    }
    EXPECT_EQ(fault_names(scenario), "none");
  }
}

}  // namespace
}  // namespace larder::sim
