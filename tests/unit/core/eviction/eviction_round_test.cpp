#include "core/eviction/eviction_round.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "tests/support/names_as_they_come.h"

namespace larder {
namespace {

using Progress = EvictionRound::Progress;

// A catalog of units of given sizes, each held by one reason or none.
class Catalog final : public Evictor {
 public:
  explicit Catalog(std::string_view policy = "lru")
      : order(EvictionOrder::make(policy, names).value()) {}

  Evictable& add(Bytes bytes, EvictionOrder::Insertion how = {}) {
    units.push_back(std::make_unique<Evictable>(bytes));
    order.insert(*units.back(), how);
    return *units.back();
  }
  std::optional<SkipReason> held_by(const Evictable& unit) override {
    ++looks[&unit];
    const auto at = held.find(&unit);
    if (at == held.end()) return std::nullopt;
    return at->second;
  }
  Taken evict(Evictable& unit) override {
    places.push_back(unit.place);
    victims.push_back(&unit);
    order.erase(unit);
    return {.objects = 2, .group = true};
  }
  std::uint64_t total_looks() const {
    return std::accumulate(looks.begin(), looks.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const auto& entry) { return sum + entry.second; });
  }

  NamesAsTheyCome names;
  EvictionOrder order;
  std::vector<std::unique_ptr<Evictable>> units;
  std::map<const Evictable*, SkipReason> held;
  std::map<const Evictable*, std::uint64_t> looks;
  std::vector<const Evictable*> victims;
  std::vector<Evictable::Place> places;  // of the victims
};

TEST(EvictionRound, FreesTheGoalInBytesAndNotMore) {
  Catalog catalog;
  for (int i = 0; i < 10; ++i) catalog.add(100_B);
  EvictionRound round(catalog.order);
  EXPECT_EQ(round.step(catalog.order, {.goal = 250_B}, catalog), Progress::enough);
  EXPECT_EQ(round.counts(),
            (EvictionCounts{.units = 3, .objects = 6, .groups = 3, .bytes = 300_B}));
  EXPECT_EQ(catalog.total_looks(), 3u);
}

TEST(EvictionRound, ANothingGoalLooksAtNothing) {
  Catalog catalog;
  catalog.add(1_B);
  EvictionRound round(catalog.order);
  EXPECT_EQ(round.step(catalog.order, {.goal = 0_B}, catalog), Progress::enough);
  EXPECT_EQ(catalog.total_looks(), 0u);
}

TEST(EvictionRound, SoftPinnedUnitsGoOnlyWhenNothingNormalCan) {
  Catalog catalog;
  const Evictable& soft = catalog.add(1_B, {.soft_pinned = true});
  const Evictable& leased = catalog.add(1_B);
  const Evictable& free = catalog.add(1_B);
  catalog.held[&leased] = SkipReason::leased;
  EvictionRound round(catalog.order);
  EXPECT_EQ(round.step(catalog.order, {.goal = 2_B}, catalog), Progress::enough);
  EXPECT_EQ(catalog.victims, (std::vector{&free, &soft}));
}

TEST(EvictionRound, TooLittleIsReportedByReason) {
  Catalog catalog;
  catalog.held[&catalog.add(1_B)] = SkipReason::leased;
  catalog.held[&catalog.add(1_B)] = SkipReason::leased;
  catalog.held[&catalog.add(1_B)] = SkipReason::busy;
  catalog.held[&catalog.add(1_B)] = SkipReason::sick;
  catalog.add(1_B);
  EvictionRound round(catalog.order);
  EXPECT_EQ(round.step(catalog.order, {.goal = 3_B}, catalog), Progress::exhausted);
  EvictionCounts expected{.units = 1, .objects = 2, .groups = 1, .bytes = 1_B};
  expected.skipped_for(SkipReason::leased) = 2;
  expected.skipped_for(SkipReason::busy) = 1;
  expected.skipped_for(SkipReason::sick) = 1;
  EXPECT_EQ(round.counts(), expected);
  EXPECT_EQ(catalog.total_looks(), 5u);
}

TEST(EvictionRound, StepsOfBoundedWorkReachTheSoftPinnedOnesBehindAllThatIsLeased) {
  Catalog catalog;
  const Evictable& soft = catalog.add(1_B, {.soft_pinned = true});
  for (int i = 0; i < 1000; ++i) catalog.held[&catalog.add(1_B)] = SkipReason::leased;
  EvictionRound round(catalog.order);
  int steps = 1;
  for (; round.step(catalog.order, {.goal = 1_B, .looks_max = 10}, catalog) == Progress::more;)
    ++steps;
  EXPECT_EQ(steps, 101);
  EXPECT_EQ(catalog.victims, (std::vector{&soft}));
  EXPECT_EQ(catalog.total_looks(), 1001u);
}

TEST(EvictionRound, WaitsForAQuarantineAndKeepsTheOrder) {
  Catalog catalog;
  const Evictable& first = catalog.add(1_B);
  catalog.add(1_B);
  catalog.held[&first] = SkipReason::quarantine;
  EvictionRound round(catalog.order);
  EXPECT_EQ(round.step(catalog.order, {.goal = 1_B}, catalog), Progress::blocked);
  EXPECT_TRUE(catalog.victims.empty());
  catalog.held.clear();
  EXPECT_EQ(round.step(catalog.order, {.goal = 1_B}, catalog), Progress::enough);
  EXPECT_EQ(catalog.victims, (std::vector{&first}));
}

// Everything is polled all the time, and the master refuses new short leases to what is wanted.
TEST(EvictionRound, PollingEverythingHoldsEvictionUpForOneShortLease) {
  Catalog catalog;
  for (int i = 0; i < 10'000; ++i) catalog.held[&catalog.add(1_B)] = SkipReason::exists_lease;
  EvictionRound first(catalog.order);
  EXPECT_EQ(first.step(catalog.order, {.goal = 500_B}, catalog), Progress::enough);
  EXPECT_TRUE(catalog.victims.empty());
  EXPECT_EQ(catalog.order.wanted_bytes(), 500_B);
  EXPECT_EQ(first.counts().skipped[std::size_t(SkipReason::exists_lease)], 500u);

  EvictionRound again(catalog.order);  // the short leases have not ended
  EXPECT_EQ(again.step(catalog.order, {.goal = 500_B}, catalog), Progress::enough);
  EXPECT_LE(catalog.total_looks(), 502u) << "what waits is not looked at over and over";

  std::erase_if(catalog.held, [](const auto& e) { return EvictionOrder::is_wanted(*e.first); });
  EvictionRound later(catalog.order);
  EXPECT_EQ(later.step(catalog.order, {.goal = 500_B}, catalog), Progress::enough);
  ASSERT_EQ(catalog.victims.size(), 500u);
  for (std::size_t i = 0; i < 500; ++i) EXPECT_EQ(catalog.victims[i], catalog.units[i].get());
  EXPECT_EQ(catalog.order.wanted_bytes(), 0_B);
}

TEST(EvictionRound, APrefixGoesFromItsEndInOneRound) {
  Catalog catalog("leaf-first");
  std::vector<const Evictable*> from_the_end;
  const Evictable* last = nullptr;
  for (int i = 0; i < 5; ++i) {
    last = &catalog.add(1_B, {.parent = last});
    from_the_end.insert(from_the_end.begin(), last);
  }
  EvictionRound round(catalog.order);
  EXPECT_EQ(round.step(catalog.order, {.goal = 5_B}, catalog), Progress::enough);
  EXPECT_EQ(catalog.victims, from_the_end);
}

struct Spec {
  int bytes;
  int reason;  // beyond the known reasons: free to go
  bool soft_pinned;
  std::size_t parent;
};

// Whatever is held: a round looks at no unit twice (a wanted one: once more for each step), ends,
// and takes something that is held never, something soft-pinned only if all normal ones stayed for
// cause.
TEST(EvictionRound, LooksAtEachUnitOnceAndTakesOnlyWhatMayGo) {
  for (const std::string_view policy : policy_names()) {
    EXPECT_TRUE(rc::check([&] {
      const auto specs = *rc::gen::container<std::vector<Spec>>(rc::gen::construct<Spec>(
          rc::gen::inRange(1, 5), rc::gen::inRange(0, 12), rc::gen::arbitrary<bool>(),
          rc::gen::inRange<std::size_t>(0, 30)));
      Catalog catalog(policy);
      Bytes free_to_go;
      for (const Spec& spec : specs) {
        const bool has_parent = spec.parent < catalog.units.size();
        Evictable& unit =
            catalog.add({static_cast<std::uint64_t>(spec.bytes)},
                        {.soft_pinned = spec.soft_pinned,
                         .parent = has_parent ? catalog.units[spec.parent].get() : nullptr});
        const auto reason = static_cast<SkipReason>(spec.reason);
        if (spec.reason < int(skip_reasons) && reason != SkipReason::quarantine)
          catalog.held[&unit] = reason;
        else
          free_to_go += unit.bytes;
      }
      const Bytes goal{*rc::gen::inRange<std::uint64_t>(0, 60)};
      EvictionRound round(catalog.order);
      std::uint64_t steps = 0;
      Progress progress;
      do {
        const Bytes left = goal - std::min(goal, round.counts().bytes);
        progress = round.step(catalog.order, {.goal = left, .looks_max = 4}, catalog);
        catalog.order.check_invariants();
        RC_ASSERT(++steps < 1000);
      } while (progress == Progress::more);

      for (const auto& [unit, looks] : catalog.looks)
        RC_ASSERT(looks <=
                  (catalog.held.contains(unit) && catalog.held.at(unit) == SkipReason::exists_lease
                       ? 1 + steps
                       : 1));
      for (const Evictable* victim : catalog.victims) RC_ASSERT(!catalog.held.contains(victim));
      const Bytes reached = round.counts().bytes + catalog.order.wanted_bytes();
      RC_ASSERT((progress == Progress::enough) == (reached >= goal));
      // Who has a child that is held is not free to go.
      const bool any_may_go = policy != "leaf-first" && policy != "length-aware" &&
                              policy != "cost-aware" && policy != "lfu-da";
      if (any_may_go && progress == Progress::exhausted)
        RC_ASSERT(round.counts().bytes == free_to_go);
      RC_ASSERT(std::ranges::is_sorted(catalog.places));
    }));
  }
}

}  // namespace
}  // namespace larder
