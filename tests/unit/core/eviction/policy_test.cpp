#include "core/eviction/policy.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/base/archive.h"
#include "core/base/assert.h"
#include "tests/support/naive_policy.h"
#include "tests/support/victim.h"

namespace larder {
namespace {

void throw_broken_invariant(const char* condition, const char* message, std::source_location) {
  throw std::logic_error(std::string(condition) + " " + message);
}

struct Step {
  int kind;  // 0, 1: insert or access; 2: erase; 3: defer the victim; 4: evict it; 5: a new round
  std::uint32_t unit;
  std::uint32_t parent;
};

class EveryPolicy : public testing::TestWithParam<std::string_view> {
 protected:
  struct Record : Evictable {
    using Evictable::Evictable;
    std::uint32_t number = 0;
  };
  static std::uint64_t number_of(const Evictable& unit) {
    return static_cast<const Record&>(unit).number;
  }
  EveryPolicy() : policy_(make_policy(GetParam(), number_of).value()) {}

  // A unit that is gone is freed, so that the address sanitizer sees a link that was left behind.
  void drop(std::uint32_t unit) {
    policy_->erase(*units_.at(unit));
    units_.erase(unit);
  }
  void add(std::uint32_t unit, std::optional<std::uint32_t> parent = {}) {
    auto [at, fresh] = units_.emplace(unit, std::make_unique<Record>(1_B));
    ASSERT_TRUE(fresh);
    at->second->number = unit;
    policy_->insert(*at->second, parent ? units_.at(*parent).get() : nullptr);
  }
  // In steps of few looks, as the master asks.
  std::optional<std::uint32_t> victim() {
    while (true) {
      std::uint32_t looks = 3;
      if (const Evictable* const chosen = policy_->victim(looks))
        return static_cast<const Record*>(chosen)->number;
      if (looks > 0) return std::nullopt;
    }
  }
  std::vector<std::uint32_t> drain() {
    policy_->begin_round();
    std::vector<std::uint32_t> order;
    for (auto next = victim(); next; next = victim()) {
      order.push_back(*next);
      drop(*next);
    }
    return order;
  }

  using Units = std::map<std::uint32_t, std::unique_ptr<Record>>;
  class Numbers final : public UnitNames {
   public:
    explicit Numbers(const Units& units) : units_(units) {}
    std::uint32_t name(const Evictable& unit) const override {
      return static_cast<const Record&>(unit).number;
    }
    Evictable* find(std::uint32_t name) const override {
      const auto at = units_.find(name);
      return at == units_.end() ? nullptr : at->second.get();
    }

   private:
    const Units& units_;
  };
  std::string saved() {
    std::string bytes;
    Archive archive([&](std::span<const std::byte> piece) {
      bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    });
    policy_->archive(archive, Numbers(units_));
    archive.finish();
    return bytes;
  }
  // Sequences of five.
  static std::optional<std::uint32_t> parent_of(std::uint32_t unit) {
    return unit % 5 == 0 ? std::nullopt : std::optional(unit - 1);
  }

  std::unique_ptr<EvictionPolicy> policy_;
  Units units_;
};

TEST_P(EveryPolicy, ChoosesLikeTheNaiveOne) {
  const AssertionHandler before = set_assertion_handler(throw_broken_invariant);
  const bool held = rc::check([&] {
    policy_ = make_policy(GetParam(), number_of).value();
    units_.clear();
    NaivePolicy naive{std::string(GetParam())};
    const auto steps = *rc::gen::container<std::vector<Step>>(rc::gen::construct<Step>(
        rc::gen::inRange(0, 6), rc::gen::inRange(0u, 12u), rc::gen::inRange(0u, 16u)));
    for (const Step& step : steps) {
      const bool known = naive.contains(step.unit);
      if (step.kind <= 1 && !known) {
        std::optional<std::uint32_t> parent;
        if (naive.contains(step.parent)) parent = step.parent;
        add(step.unit, parent);
        naive.insert(step.unit, parent);
      } else if (step.kind <= 1) {
        policy_->access(*units_.at(step.unit));
        naive.access(step.unit);
      } else if (step.kind == 2 && known) {
        drop(step.unit);
        naive.erase(step.unit);
      } else if (step.kind == 3 || step.kind == 4) {
        const auto next = victim();
        RC_ASSERT(next == naive.victim());
        if (next && step.kind == 3) {
          policy_->defer(*units_.at(*next));
          naive.defer(*next);
        } else if (next) {
          drop(*next);
          naive.erase(*next);
        }
      } else if (step.kind == 5) {
        policy_->begin_round();
        naive.begin_round();
      }
      policy_->check_invariants();
      RC_ASSERT(policy_->size() == naive.size());
    }
  });
  set_assertion_handler(before);
  EXPECT_TRUE(held);
}

TEST_P(EveryPolicy, IsTheSameAfterItWasSavedAndLoaded) {
  for (std::uint32_t unit = 0; unit < 60; ++unit) add(unit, parent_of(unit));
  for (std::uint32_t unit = 0; unit < 60; unit += 1 + unit % 3) policy_->access(*units_.at(unit));
  for (int round = 0; round < 2; ++round) {
    policy_->begin_round();
    for (int i = 0; i < 5; ++i) policy_->defer(*units_.at(*victim()));
    for (int i = 0; i < 15; ++i) drop(*victim());
  }
  for (std::uint32_t unit = 10; unit < 60; unit += 7) {
    if (!units_.contains(unit)) add(unit);
  }
  policy_->begin_round();
  policy_->defer(*units_.at(*victim()));

  const std::string bytes = saved();
  Units originals;
  for (auto& [number, record] : units_) {
    auto copy = std::make_unique<Record>(record->bytes);
    copy->number = number;
    copy->line = record->line;
    copy->uses = record->uses;
    copy->stamp = record->stamp;
    copy->own_family = record->own_family;
    copy->parent_family = record->parent_family;
    originals.emplace(number, std::exchange(record, std::move(copy)));
  }
  auto original = std::exchange(policy_, make_policy(GetParam(), number_of).value());
  Archive loading(std::as_bytes(std::span(bytes)));
  policy_->archive(loading, Numbers(units_));
  loading.finish();
  ASSERT_TRUE(loading.status()) << loading.status().error().message();
  policy_->check_invariants();
  EXPECT_EQ(saved(), bytes);

  add(100);
  originals.emplace(100, std::make_unique<Record>(1_B)).first->second->number = 100;
  original->insert(*originals.at(100), nullptr);
  const std::vector<std::uint32_t> order = drain();
  std::swap(policy_, original);
  std::swap(units_, originals);
  EXPECT_EQ(drain(), order);
}

TEST_P(EveryPolicy, AnOrderThatNamesWhatIsNotThereOrIsThereTwiceIsRefused) {
  add(1);
  add(2);
  std::string bytes = saved();
  units_.at(2)->number = 1;
  const std::string twice = saved();
  for (const std::string& wrong : {bytes, twice}) {
    Units units;
    units[1] = std::make_unique<Record>(1_B);
    units[1]->line = Evictable::Line::first;
    Archive loading(std::as_bytes(std::span(wrong)));
    make_policy(GetParam(), number_of).value()->archive(loading, Numbers(units));
    EXPECT_EQ(loading.status().error().code(), ErrorCode::bad_file);
  }
}

TEST_P(EveryPolicy, WhereNothingMayGoARoundSeesEachUnitOnce) {
  for (std::uint32_t unit = 0; unit < 100; ++unit) add(unit);
  for (std::uint32_t unit = 0; unit < 100; unit += 3) policy_->access(*units_.at(unit));
  for (int round = 0; round < 3; ++round) {
    policy_->begin_round();
    std::set<std::uint32_t> seen;
    while (const auto next = victim()) {
      EXPECT_TRUE(seen.insert(*next).second) << *next << " was offered twice";
      policy_->defer(*units_.at(*next));
      policy_->access(*units_.at(*next / 2));
    }
    EXPECT_EQ(seen.size(), 100u);
  }
}

TEST_P(EveryPolicy, WhatWasDeferredGoesInALaterRound) {
  for (std::uint32_t unit = 0; unit < 100; ++unit) add(unit);
  policy_->begin_round();
  while (const auto next = victim()) policy_->defer(*units_.at(*next));
  EXPECT_EQ(drain().size(), 100u);
}

TEST_P(EveryPolicy, AnEmptyOneHasNoVictim) {
  policy_->begin_round();
  EXPECT_EQ(victim(), std::nullopt);
  add(1);
  drop(1);
  policy_->begin_round();
  EXPECT_EQ(victim(), std::nullopt);
  EXPECT_EQ(policy_->size(), 0u);
}

TEST_P(EveryPolicy, ADoubleInsertOrEraseIsABrokenInvariant) {
  const AssertionHandler before = set_assertion_handler(throw_broken_invariant);
  add(1);
  EXPECT_THROW(policy_->insert(*units_.at(1), nullptr), std::logic_error);
  policy_->erase(*units_.at(1));
  EXPECT_THROW(policy_->erase(*units_.at(1)), std::logic_error);
  EXPECT_THROW(policy_->access(*units_.at(1)), std::logic_error);
  EXPECT_THROW(policy_->defer(*units_.at(1)), std::logic_error);
  set_assertion_handler(before);
  policy_->check_invariants();
}

INSTANTIATE_TEST_SUITE_P(, EveryPolicy, testing::ValuesIn(policy_names()), [](const auto& info) {
  std::string name(info.param);
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST(MakePolicy, AnUnknownNameIsRefusedWithTheKnownOnes) {
  const auto result = make_policy("mru", nullptr);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::invalid_params);
  EXPECT_EQ(result.error().facts().detail,
            "no eviction policy is named 'mru'; there are lru, fifo, lfu, clock, sieve, s3-fifo, "
            "leaf-first, length-aware, cost-aware, lfu-da");
  EXPECT_EQ(check_policy("mru").error().facts().detail, result.error().facts().detail);
  EXPECT_TRUE(check_policy("lru"));
}

TEST(Policies, WhatIsOrderedByTimeTakesAFreshUnitLast) {
  for (const std::string_view name : {"lru", "fifo", "leaf-first"}) {
    const auto policy = make_policy(name, nullptr).value();
    std::vector<Evictable> units(6);
    for (Evictable& unit : units) policy->insert(unit, nullptr);
    policy->access(units[0]);
    const Evictable& first = units[name == "fifo" ? 0 : 1];
    EXPECT_EQ(first_victim(*policy), &first) << name;
  }
}

// A unit that is asked for each time when the cache has just lost it, if that goes by time.
TEST(Policies, WhatComesBackAgainAndAgainStaysInTheEnd) {
  constexpr std::size_t rounds = 40;
  constexpr std::size_t strangers = 4;
  const auto hits_of = [](std::string_view name) {
    const auto policy =
        make_policy(name, [](const Evictable& unit) { return unit.bytes.value; }).value();
    std::vector<Evictable> units(1 + rounds * strangers);
    for (std::size_t i = 0; i < units.size(); ++i) units[i].bytes = {i};
    Evictable& often = units[0];
    std::size_t hits = 0;
    for (std::size_t i = 0; i < rounds * strangers; ++i) {
      if (i % strangers == 0) {
        hits += often.in_policy() ? 1 : 0;
        often.in_policy() ? policy->access(often) : policy->insert(often, nullptr);
      }
      policy->insert(units[i + 1], nullptr);
      while (policy->size() > 3) policy->erase(*first_victim(*policy));
    }
    return hits;
  };
  EXPECT_EQ(hits_of("lru"), 0u);
  for (const std::string_view name : {"s3-fifo", "cost-aware", "lfu-da"}) {
    EXPECT_GT(hits_of(name), rounds / 2) << name;
  }
}

class LeafFirst : public testing::Test {
 protected:
  Evictable& add(const Evictable* parent = nullptr) {
    units_.push_back(std::make_unique<Evictable>(1_B));
    policy_->insert(*units_.back(), parent);
    return *units_.back();
  }
  std::unique_ptr<EvictionPolicy> policy_ = make_policy("leaf-first", nullptr).value();
  std::vector<std::unique_ptr<Evictable>> units_;
};

TEST_F(LeafFirst, APrefixGoesFromItsEnd) {
  const Evictable& a = add();
  const Evictable& b = add(&a);
  Evictable& c = add(&b);
  EXPECT_EQ(first_victim(*policy_), &c);
  policy_->erase(c);
  EXPECT_EQ(first_victim(*policy_), &b);
}

TEST_F(LeafFirst, AUnitThatIsALeafAgainStandsWhereItsLastUsePutsIt) {
  Evictable& older = add();
  Evictable& parent = add();
  Evictable& newer = add();
  Evictable& child = add(&parent);
  policy_->erase(child);
  EXPECT_EQ(first_victim(*policy_), &older);
  policy_->erase(older);
  EXPECT_EQ(first_victim(*policy_), &parent);
  Evictable& another = add(&parent);
  policy_->access(parent);  // used while it is no candidate
  policy_->erase(another);
  EXPECT_EQ(first_victim(*policy_), &newer);
}

TEST_F(LeafFirst, AParentThatComesAgainDoesNotAdoptItsFormerChildren) {
  Evictable& parent = add();
  Evictable& child = add(&parent);
  policy_->erase(parent);
  policy_->insert(parent, nullptr);
  policy_->access(child);
  EXPECT_EQ(first_victim(*policy_), &parent);
  policy_->erase(child);
  policy_->check_invariants();
  EXPECT_EQ(first_victim(*policy_), &parent);
}

TEST_F(LeafFirst, AParentWithManyChildrenLeavesThemAsRootsInTheOrderOfTheirUse) {
  Evictable& parent = add();
  for (int i = 0; i < 1000; ++i) add(&parent);
  policy_->erase(parent);
  policy_->check_invariants();
  ASSERT_EQ(policy_->size(), 1000u);
  for (std::size_t i = 1; i <= 1000; ++i) {
    ASSERT_EQ(first_victim(*policy_), units_[i].get());
    policy_->erase(*units_[i]);
  }
}

}  // namespace
}  // namespace larder
