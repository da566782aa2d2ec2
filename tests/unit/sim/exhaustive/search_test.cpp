#include "sim/exhaustive/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/explore/guard_names.h"

namespace larder::sim {
namespace {

SmallWorld world_named(std::string_view name) {
  const auto named = std::ranges::find(named_worlds(), name, &NamedWorld::name);
  EXPECT_NE(named, named_worlds().end()) << name;
  auto world = parse_small_world(named->text, name);
  EXPECT_TRUE(world.has_value()) << world.error().message();
  return *std::move(world);
}

SmallWorld world_of(std::string_view text) {
  auto world = parse_small_world(text, "test");
  EXPECT_TRUE(world.has_value()) << world.error().message();
  return *std::move(world);
}

// One writer and one reader of a value of one chunk: the smallest there is.
constexpr std::string_view smallest = R"(
values up to 64B
chunk 64B
node0 1KiB
client0
client1
at 1s client0 put k 64B
at 1s client1 get k
)";

TEST(Search, ExhaustsSmallWorldsWithoutAViolation) {
  for (const std::string_view name : {"two-writers", "remove-and-put", "evict-and-put-again"}) {
    const SearchResult found = search(world_named(name), {});
    EXPECT_EQ(found.end, SearchResult::End::exhausted) << name;
    EXPECT_TRUE(found.violations.empty()) << name << ": " << found.violations.front().what;
    EXPECT_GT(found.ends, 0u) << name << " never came to its rest";
  }
}

TEST(Search, NoWorldIsBrokenAsFarAsATestCanLook) {
  for (const NamedWorld& named : named_worlds()) {
    const SearchResult found = search(world_named(named.name), {.states_max = 400});
    EXPECT_TRUE(found.violations.empty()) << named.name << ": " << found.violations.front().what;
    EXPECT_GE(found.states, 400u) << named.name;
  }
}

TEST(Search, SleepSetsLeaveOutOrdersAndNoState) {
  for (const std::string_view name : {"two-writers", "remove-and-put"}) {
    const SearchResult some = search(world_named(name), {});
    const SearchResult all = search(world_named(name), {.sleep_sets = false});
    EXPECT_EQ(some.states, all.states) << name;
    EXPECT_EQ(some.ends, all.ends) << name;
    EXPECT_LT(2 * some.executions, all.executions) << name;
  }
}

TEST(Search, AllHistoriesOfOneStateGoOnLikewise) {
  for (const std::string_view name : {"two-writers", "remove-and-put", "evict-and-put-again"}) {
    const SearchResult found = search(world_named(name), {.test_merges = 5});
    EXPECT_GT(found.merges_tested, 20u) << name;
    EXPECT_EQ(found.false_merges, 0u) << name;
  }
}

TEST(Search, StopsAtTheBoundOfStates) {
  const SearchResult found = search(world_named("two-masters"), {.states_max = 50});
  EXPECT_EQ(found.end, SearchResult::End::states);
  EXPECT_EQ(found.states, 50u);
}

TEST(Search, StopsWhenItIsTold) {
  const SearchResult found =
      search(world_named("upsert-and-readers"),
             {.goes_on = [](std::uint64_t states, std::size_t) { return states < 1024; }});
  EXPECT_EQ(found.end, SearchResult::End::stopped);
}

// ---- it sees something --------------------------------------------------------------------------

struct Caught {
  std::string_view world;
  std::vector<std::string_view> without;
  Invariant invariant;
};

class GuardsOff : public testing::TestWithParam<Caught> {};

SearchResult search_without(const Caught& caught, Guards& guards) {
  for (const std::string_view name : caught.without) guards.*guard_named(name) = false;
  return search(world_named(caught.world), {.guards = guards, .states_max = 60'000});
}

TEST_P(GuardsOff, BreakAnInvariantWhoseWayIsFoundAndToldAgain) {
  Guards guards;
  const SearchResult found = search_without(GetParam(), guards);
  ASSERT_EQ(found.end, SearchResult::End::violation) << found.states << " states";
  EXPECT_EQ(found.violations.front().invariant, GetParam().invariant)
      << found.violations.front().what;

  const auto way = parse_way(way_text(found.way));
  ASSERT_TRUE(way.has_value());
  EXPECT_EQ(*way, found.way);
  const Replay told = replay(world_named(GetParam().world), guards, *way, true);
  ASSERT_FALSE(told.violations.empty());
  EXPECT_EQ(told.violations.front().what, found.violations.front().what);
  EXPECT_GE(told.told.size(), way->size());
  const Replay guarded = replay(world_named(GetParam().world), {}, *way, false);
  EXPECT_TRUE(guarded.violations.empty()) << "the guard prevents nothing";
}

INSTANTIATE_TEST_SUITE_P(
    Worlds, GuardsOff,
    testing::Values(
        Caught{"two-writers", {"state"}, Invariant::whole_bytes},
        Caught{"upsert-and-readers", {"state"}, Invariant::whole_bytes},
        Caught{"two-replicas", {"state"}, Invariant::whole_bytes},
        Caught{"node-restart", {"state"}, Invariant::whole_bytes},
        Caught{"remove-and-put", {"footer", "checksum"}, Invariant::whole_bytes},
        Caught{"remove-and-put", {"retirement", "overlap"}, Invariant::machine},
        Caught{"evict-and-put-again", {"lease", "footer", "checksum"}, Invariant::whole_bytes},
        Caught{"master-restart", {"overlap"}, Invariant::machine},
        Caught{"writer-crash", {"writer-waits"}, Invariant::space_returns},
        Caught{"late-fill", {"writer-waits"}, Invariant::space_returns}),
    [](const auto& info) {
      std::string name;
      for (const char each :
           std::string(info.param.world) + "_" + std::string(info.param.without.front())) {
        name += std::isalnum(static_cast<unsigned char>(each)) != 0 ? each : '_';
      }
      return name;
    });

// ---- what may happen ----------------------------------------------------------------------------

TEST(SmallWorld, AClientThatMayCrashDoesSoAtEveryPoint) {
  const SmallWorld calm = world_of(smallest);
  const SmallWorld crashes = world_of(std::string(smallest) + "may crash client0 once\n");
  const SearchResult without = search(calm, {});
  const SearchResult with = search(crashes, {});
  EXPECT_EQ(with.end, SearchResult::End::exhausted);
  EXPECT_TRUE(with.violations.empty()) << with.violations.front().what;
  EXPECT_GT(with.states, without.states);
}

TEST(SmallWorld, ADoubledOrLostCallIsCarriedOutOnce) {
  for (const std::string_view line : {"may double once\n", "may lose once\n"}) {
    const SearchResult found =
        search(world_of(std::string(smallest) + std::string(line)), {.states_max = 20'000});
    EXPECT_TRUE(found.violations.empty()) << line << found.violations.front().what;
    EXPECT_GT(found.states, 100u) << line;
  }
}

TEST(SmallWorld, WhatIsAt0sIsDoneBefore) {
  const SmallWorld world = world_of(R"(
values up to 64B
chunk 64B
node0 1KiB
client0
client1
at 0s client0 put k 64B
at 1s client1 remove k
)");
  const Replay told = replay(world, {}, *parse_way("begin.1"), true);
  ASSERT_EQ(told.taken.size(), 1u) << "the put was not over";
}

TEST(SmallWorld, AWrongLineIsNamed) {
  const auto error = [](std::string_view line) {
    const auto world = parse_small_world(std::string(smallest) + std::string(line), "w");
    return world ? std::string("none") : world.error().message();
  };
  EXPECT_NE(error("may crash client7 once\n").find("w:9"), std::string::npos);
  EXPECT_NE(error("may crash client7 once\n").find("client7"), std::string::npos);
  EXPECT_NE(error("may burn node0 once\n").find("may restart master0 once"), std::string::npos);
  EXPECT_NE(error("may lose often\n").find("often"), std::string::npos);
  EXPECT_NE(error("may start master1\n").find("line of its own"), std::string::npos);
  EXPECT_NE(error("at 2s crash node0 for 1s\n").find("'may'"), std::string::npos);
  EXPECT_NE(error("node7 1KiB\n").find("w:9"), std::string::npos);
  EXPECT_EQ(error("may lose 3\n"), "none");
}

TEST(Way, WhatIsNoActionIsRefused) {
  for (const std::string_view text :
       {"jump.0", "request.x", "request.0.3.1.1", "request.0.99999"}) {
    EXPECT_FALSE(parse_way(text).has_value()) << text;
  }
  EXPECT_TRUE(parse_way("").has_value());
}

}  // namespace
}  // namespace larder::sim
