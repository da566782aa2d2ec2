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
#include "tests/support/names_as_they_come.h"
#include "tests/support/victim.h"

namespace larder {
namespace {

void throw_broken_invariant(const char* condition, const char* message, std::source_location) {
  throw std::logic_error(std::string(condition) + " " + message);
}

struct Step {
  // 0, 1: insert or access; 2: erase; 3: defer the victim; 4: evict it; 5: a new round; 6: save and
  // load
  int kind;
  std::uint32_t unit;
  std::uint32_t parent;
};

// A policy, and units by their numbers. A unit that is gone is freed, so that the address sanitizer
// sees a link that was left behind, and its number is another one's when that comes.
struct Cache {
  struct Record : Evictable {
    using Evictable::Evictable;
    std::uint32_t number = 0;
  };
  struct Units final : UnitNames, std::map<std::uint32_t, std::unique_ptr<Record>> {
    std::uint32_t name(const Evictable& unit) const override {
      return static_cast<const Record&>(unit).number;
    }
    Evictable* find(std::uint32_t name) const override {
      const auto at = map::find(name);
      return at == end() ? nullptr : at->second.get();
    }
    std::uint64_t identity(const Evictable& unit) const override { return name(unit); }
  };

  explicit Cache(std::string_view name) : policy_(make_policy(name, units_).value()) {}

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
  std::optional<std::uint32_t> parent(std::uint32_t unit) const {
    const Evictable* const above = policy_->parent(*units_.at(unit));
    return above == nullptr ? std::nullopt : std::optional(units_.name(*above));
  }
  // As the catalog does it: first the units, then their order.
  std::string saved() {
    std::string bytes;
    Archive archive([&](std::span<const std::byte> piece) {
      bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    });
    for (const auto& [number, record] : units_) record->archive(archive);
    policy_->archive(archive);
    archive.finish();
    return bytes;
  }
  // `like`: whose units these are.
  Status load(const std::string& bytes, const Cache& like) {
    Archive archive(std::as_bytes(std::span(bytes)));
    for (const auto& [number, record] : like.units_) {
      auto& copy = units_[number] = std::make_unique<Record>();
      copy->number = number;
      copy->archive(archive);
    }
    policy_->archive(archive);
    archive.finish();
    return archive.status();
  }

  Units units_;
  std::unique_ptr<EvictionPolicy> policy_;
};

class EveryPolicy : public testing::TestWithParam<std::string_view>, protected Cache {
 protected:
  EveryPolicy() : Cache(GetParam()) {}
  // Sequences of five.
  static std::optional<std::uint32_t> parent_of(std::uint32_t unit) {
    return unit % 5 == 0 ? std::nullopt : std::optional(unit - 1);
  }
};

TEST_P(EveryPolicy, ChoosesLikeTheNaiveOne) {
  const AssertionHandler before = set_assertion_handler(throw_broken_invariant);
  const bool held = rc::check([&] {
    auto cache = std::make_unique<Cache>(GetParam());
    NaivePolicy naive{std::string(GetParam())};
    const auto steps = *rc::gen::container<std::vector<Step>>(rc::gen::construct<Step>(
        rc::gen::inRange(0, 7), rc::gen::inRange(0u, 12u), rc::gen::inRange(0u, 16u)));
    for (const Step& step : steps) {
      const bool known = naive.contains(step.unit);
      if (step.kind <= 1 && !known) {
        std::optional<std::uint32_t> parent;
        if (naive.contains(step.parent)) parent = step.parent;
        cache->add(step.unit, parent);
        naive.insert(step.unit, parent);
      } else if (step.kind <= 1) {
        cache->policy_->access(*cache->units_.at(step.unit));
        naive.access(step.unit);
      } else if (step.kind == 2 && known) {
        cache->drop(step.unit);
        naive.erase(step.unit);
      } else if (step.kind == 3 || step.kind == 4) {
        const auto next = cache->victim();
        RC_ASSERT(next == naive.victim());
        if (next && step.kind == 3) {
          cache->policy_->defer(*cache->units_.at(*next));
          naive.defer(*next);
        } else if (next) {
          cache->drop(*next);
          naive.erase(*next);
        }
      } else if (step.kind == 5) {
        cache->policy_->begin_round();
        naive.begin_round();
      } else if (step.kind == 6) {
        auto loaded = std::make_unique<Cache>(GetParam());
        const std::string bytes = cache->saved();
        RC_ASSERT(loaded->load(bytes, *cache).has_value());
        RC_ASSERT(loaded->saved() == bytes);
        cache = std::move(loaded);
      }
      cache->policy_->check_invariants();
      RC_ASSERT(cache->policy_->size() == naive.size());
      for (const auto& [number, unit] : cache->units_) {
        RC_ASSERT(cache->parent(number) == naive.parent(number));
      }
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
  Cache copy(GetParam());
  const Status loaded = copy.load(bytes, *this);
  ASSERT_TRUE(loaded) << loaded.error().message();
  copy.policy_->check_invariants();
  EXPECT_EQ(copy.saved(), bytes);
  add(100);
  copy.add(100);
  EXPECT_EQ(copy.drain(), drain());
}

TEST_P(EveryPolicy, AnOrderThatNamesWhatIsNotThereOrIsThereTwiceIsRefused) {
  add(1);
  add(2);
  const auto refused = [&] {
    const std::string bytes = saved();
    Cache other(GetParam());
    const Status loaded = other.load(bytes, *this);
    return !loaded && loaded.error().code() == ErrorCode::bad_file;
  };
  EXPECT_FALSE(refused());
  units_.at(2)->number = 7;
  EXPECT_TRUE(refused());
  units_.at(2)->number = 1;
  EXPECT_TRUE(refused());
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
  const auto result = make_policy("mru", NamesAsTheyCome());
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
    const NamesAsTheyCome names;
    const auto policy = make_policy(name, names).value();
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
    const NamesAsTheyCome names;
    const auto policy = make_policy(name, names).value();
    std::vector<Evictable> units(1 + rounds * strangers);
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
  NamesAsTheyCome names_;
  std::unique_ptr<EvictionPolicy> policy_ = make_policy("leaf-first", names_).value();
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

TEST_F(LeafFirst, OfMoreChildrenThanOneUnitCanCountTheLastAreRoots) {
  Evictable& parent = add();
  Evictable& first = add(&parent);
  parent.children = Evictable::children_max - 1;
  EXPECT_EQ(policy_->parent(add(&parent)), &parent);
  Evictable& root = add(&parent);
  EXPECT_EQ(policy_->parent(root), nullptr);
  EXPECT_EQ(root.depth, 1u) << "as deep as it stands";
  EXPECT_EQ(parent.children, Evictable::children_max);
  parent.children = 2;
  policy_->check_invariants();
  policy_->erase(root);
  policy_->erase(*units_[2]);
  EXPECT_EQ(first_victim(*policy_), &first);
  policy_->erase(first);
  EXPECT_EQ(first_victim(*policy_), &parent);
}

// Each bearer of the name leaves before its child.
TEST(Families, ANameThatIsBorneAgainAndAgainKeepsTheOrphansOfEachBearerApart) {
  Cache cache("leaf-first");
  constexpr std::uint32_t name = 0;
  constexpr std::uint32_t bearers = 5;
  for (std::uint32_t life = 1; life <= bearers; ++life) {
    cache.add(name);
    cache.add(10 * life, name);
    cache.add(10 * life + 1, name);
    for (std::uint32_t before = 1; before < life; ++before) {
      EXPECT_EQ(cache.parent(10 * before), std::nullopt);
    }
    EXPECT_EQ(cache.parent(10 * life), name);
    cache.policy_->check_invariants();
    if (life < bearers) cache.drop(name);
  }
  cache.policy_->access(*cache.units_.at(10));
  EXPECT_EQ(cache.victim(), 11u) << "orphans go by their own use";
  for (const std::uint32_t orphan : {41u, 10u, 30u, 11u, 21u, 20u, 40u, 31u}) {
    cache.drop(orphan);
    cache.policy_->check_invariants();
  }
  EXPECT_EQ(cache.parent(50), name) << "whose other name goes on as long as it is used";
  cache.drop(50);
  cache.drop(51);
  EXPECT_EQ(cache.victim(), name);
  cache.add(60, name);
  EXPECT_FALSE(cache.units_.at(60)->by_alias) << "the last orphan has left";
}

TEST(Families, DepthIsCountedUpToItsLimit) {
  Cache cache("length-aware");
  constexpr std::uint32_t last = Evictable::depth_max + 5;
  for (std::uint32_t unit = 0; unit <= last; ++unit) {
    cache.add(unit, unit == 0 ? std::nullopt : std::optional(unit - 1));
    EXPECT_EQ(cache.units_.at(unit)->depth, std::min<std::uint32_t>(unit, Evictable::depth_max));
  }
  cache.drop(last);
  cache.add(last + 1, Evictable::depth_max - 2);
  cache.add(last + 2, Evictable::depth_max);
  cache.add(last, last - 1);
  EXPECT_EQ(cache.victim(), last + 2) << "at the limit the older one goes first, though less deep";
  cache.drop(last + 2);
  EXPECT_EQ(cache.victim(), last) << "below the limit the deeper one";
}

TEST(Families, ASavedUnitThatExtendsWhatIsNotThereIsRefused) {
  for (const std::string_view wrong : {"", "vacant", "alias", "itself", "below", "elsewhere"}) {
    Cache cache("leaf-first");
    for (std::uint32_t unit = 0; unit < 4; ++unit) {
      cache.add(unit, unit == 0 ? std::nullopt : std::optional(unit - 1));
    }
    Cache::Record& child = *cache.units_.at(2);
    if (wrong == "vacant") child.parent = 7;
    if (wrong == "alias") child.by_alias = true;
    if (wrong == "itself") child.parent = 2;
    if (wrong == "below") child.parent = 3;
    if (wrong == "elsewhere") cache.units_.at(1)->place = Evictable::Place::normal;
    std::string bytes;
    Archive archive([&](std::span<const std::byte> piece) {
      bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    });
    for (const auto& [number, record] : cache.units_) record->archive(archive);
    child.parent = 1;
    child.by_alias = false;
    cache.policy_->archive(archive);
    archive.finish();
    Cache other("leaf-first");
    EXPECT_EQ(other.load(bytes, cache).has_value(), wrong.empty()) << wrong;
  }
}

}  // namespace
}  // namespace larder
