#include "sim/explore/shrink.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/explore/draw.h"
#include "sim/explore/guard_names.h"
#include "sim/explore/scenario_text.h"

namespace larder::sim {
namespace {

// The first drawn scenario that fails without the guard.
std::optional<Scenario> failing(const Guards& guards) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Scenario scenario = draw_scenario(seed, 100);
    if (!run_scenario(scenario, {.guards = guards, .stops_at_first = true}).violations.empty()) {
      return scenario;
    }
  }
  return std::nullopt;
}

class ShrinkTest : public testing::TestWithParam<std::string_view> {
 protected:
  const ThrowingAssertions throwing;
};
INSTANTIATE_TEST_SUITE_P(Guards, ShrinkTest,
                         testing::Values("state", "retired-put-ids", "writer-waits", "footer",
                                         "checksum"),
                         [](const auto& parameter) {
                           std::string name(parameter.param);
                           std::erase(name, '-');
                           return name;
                         });

TEST_P(ShrinkTest, AFailureBecomesAFewStepsThatFailFromTheirFileAndPassWithTheGuard) {
  Guards guards;
  bool Guards::* const guard = guard_named(GetParam());
  guards.*guard = false;
  const std::optional<Scenario> scenario = failing(guards);
  ASSERT_TRUE(scenario);
  const std::optional<Shrunk> shrunk = shrink(*scenario, {.guards = guards, .runs_max = 1'000});
  ASSERT_TRUE(shrunk);
  // Some steps do nothing but decide the fate of messages behind them.
  EXPECT_LE(shrunk->scenario.steps.size(), 20u) << scenario_text(shrunk->scenario);
  ASSERT_FALSE(shrunk->run.violations.empty());
  EXPECT_NE(to_text(*shrunk).find("the guard '" + std::string(GetParam()) + "' is off"),
            std::string::npos);

  const auto again = parse_scenario(scenario_text(shrunk->scenario), "shrunk");
  ASSERT_TRUE(again) << again.error().message();
  const RunResult run = run_scenario(*again, {.guards = shrunk->guards});
  ASSERT_FALSE(run.violations.empty());
  EXPECT_EQ(run.violations.front().invariant, shrunk->run.violations.front().invariant);
  EXPECT_TRUE(run_scenario(*again, {}).violations.empty()) << "the guard stops it";
}

// All are off, but one is enough.
TEST(Shrink, GuardsWithoutWhichItFailsTooAreOnAgain) {
  const ThrowingAssertions throwing;
  const Guards none{false, false, false, false, false, false, false, false};
  const std::optional<Scenario> scenario = failing(none);
  ASSERT_TRUE(scenario);
  const std::optional<Shrunk> shrunk = shrink(*scenario, {.guards = none, .runs_max = 1'500});
  ASSERT_TRUE(shrunk);
  const std::string off = guards_off(shrunk->guards);
  EXPECT_LE(std::ranges::count(off, ','), 1) << off;
}

TEST(Shrink, WhatDoesNotFailIsNotShrunk) { EXPECT_FALSE(shrink(draw_scenario(1, 40), {})); }

TEST(Shrink, ItEndsWhenItIsTold) {
  const ThrowingAssertions throwing;
  Guards guards;
  guards.state = false;
  const std::optional<Scenario> scenario = failing(guards);
  ASSERT_TRUE(scenario);
  const auto shrunk = shrink(*scenario, {.guards = guards, .goes_on = [] { return false; }});
  ASSERT_TRUE(shrunk);
  EXPECT_EQ(shrunk->scenario.steps, scenario->steps);
}

}  // namespace
}  // namespace larder::sim
