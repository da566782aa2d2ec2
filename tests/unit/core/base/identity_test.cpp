#include "core/base/identity.h"

#include <gtest/gtest.h>

#include <vector>

namespace larder {
namespace {

using namespace std::chrono_literals;

constexpr Time now = Time(10s);

// The value of both walks that `add` makes.
template <class Add>
std::uint64_t identity_of(Add&& add) {
  Identity identity;
  add(identity);
  identity.rank_puts();
  add(identity);
  return identity.value();
}

std::uint64_t of_puts(const std::vector<PutId>& puts) {
  return identity_of([&](Identity& identity) {
    for (const PutId put : puts) identity.put(put);
  });
}

TEST(Identity, OfPutsOnlyTheOrderCounts) {
  EXPECT_EQ(of_puts({{{1}, 3}, {{1}, 7}}), of_puts({{{1}, 4}, {{1}, 5}}));
  EXPECT_NE(of_puts({{{1}, 3}, {{1}, 7}}), of_puts({{{1}, 7}, {{1}, 3}}));
  EXPECT_NE(of_puts({{{1}, 3}, {{1}, 7}}), of_puts({{{1}, 3}, {{1}, 3}}));
  EXPECT_NE(of_puts({{{1}, 3}}), of_puts({{{2}, 3}})) << "the epoch says who granted it";
  EXPECT_NE(of_puts({{{1}, 3}}), of_puts({PutId{}}));
}

TEST(Identity, ABoundOfPutsCountsWhatIsBelowIt) {
  const auto of = [](std::uint64_t put, std::uint64_t bound) {
    return identity_of(
        [&](Identity& identity) { identity.put({{1}, put}).puts_below({{1}, bound}); });
  };
  EXPECT_EQ(of(3, 4), of(3, 9)) << "no put is between them";
  EXPECT_NE(of(3, 3), of(3, 4));
}

TEST(Identity, KnowsInTheSecondWalkWhichPutsAreNamed) {
  Identity identity;
  identity.put({{1}, 3});
  EXPECT_FALSE(identity.names({{1}, 3}));
  identity.rank_puts();
  EXPECT_TRUE(identity.names({{1}, 3}));
  EXPECT_FALSE(identity.names({{1}, 4}));
}

TEST(Identity, OfOtherNumbersOnlyEqualityCounts) {
  const auto of = [](std::vector<std::uint64_t> numbers) {
    return identity_of([&](Identity& identity) {
      for (const std::uint64_t number : numbers) identity.name(Identity::Kind::fill, 1, number);
    });
  };
  EXPECT_EQ(of({5, 9, 5}), of({2, 1, 2}));
  EXPECT_NE(of({5, 9, 5}), of({2, 1, 1}));
  EXPECT_NE(of({5}), of({0})) << "zero is none";
}

TEST(Identity, NumbersOfTwoHostsAreTwo) {
  const auto of = [](std::uint64_t second_scope) {
    return identity_of([&](Identity& identity) {
      identity.name(Identity::Kind::read, 1, 4).name(Identity::Kind::read, second_scope, 4);
    });
  };
  EXPECT_NE(of(1), of(2));
}

TEST(Identity, InstantsCountByTheirDistanceAndAllThatHavePassedAlike) {
  const auto of = [](Time until, Time at) {
    return identity_of([&](Identity& identity) { identity.until(until, at); });
  };
  EXPECT_EQ(of(now + 2s, now), of(now + 3s, now + 1s));
  EXPECT_NE(of(now + 2s, now), of(now + 3s, now));
  EXPECT_EQ(of(now, now), of(now - 5s, now));
  EXPECT_NE(of(time_never, now), of(now, now));
}

TEST(Identity, WhatStandsInNoOrderCountsInNone) {
  const auto of = [](const std::vector<std::uint64_t>& things) {
    return identity_of([&](Identity& identity) {
      identity.add(std::uint64_t{1});
      identity.unordered(things, [&](std::uint64_t thing) { identity.add(thing); });
    });
  };
  EXPECT_EQ(of({1, 2, 3}), of({3, 1, 2}));
  EXPECT_NE(of({1, 2, 3}), of({1, 2, 4}));
}

}  // namespace
}  // namespace larder
