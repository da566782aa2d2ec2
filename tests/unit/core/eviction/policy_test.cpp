#include "core/eviction/policy.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/assert.h"

namespace larder {
namespace {

void throw_broken_invariant(const char* condition, const char* message, std::source_location) {
  throw std::logic_error(std::string(condition) + " " + message);
}

// What the three policies promise, in the most literal form: everything is looked for by a scan.
class Reference {
 public:
  explicit Reference(std::string_view policy) : policy_(policy) {}

  void insert(int unit, std::optional<int> parent) {
    std::optional<int> life;
    if (parent) life = units_.at(*parent).life;
    units_[unit] = {.place = ++clock_, .life = ++lives_, .parent_life = life};
  }
  void access(int unit) {
    if (policy_ != "fifo") units_.at(unit).place = ++clock_;
  }
  void defer(int unit) { units_.at(unit).place = ++clock_; }
  void erase(int unit) { units_.erase(unit); }
  bool contains(int unit) const { return units_.contains(unit); }
  std::size_t size() const { return units_.size(); }

  std::optional<int> victim() const {
    std::optional<int> best;
    for (const auto& [unit, facts] : units_) {
      if (policy_ == "leaf-first" && has_child(facts.life)) continue;
      if (!best || facts.place < units_.at(*best).place) best = unit;
    }
    return best;
  }

 private:
  struct Facts {
    int place;
    int life;  // a unit that comes again is another one to the children of the first
    std::optional<int> parent_life;
  };
  bool has_child(int life) const {
    return std::ranges::any_of(units_, [&](const auto& u) { return u.second.parent_life == life; });
  }

  std::string policy_;
  std::map<int, Facts> units_;
  int clock_ = 0;
  int lives_ = 0;
};

struct Step {
  int kind;  // 0, 1: insert or access; 2: erase; 3: defer; 4: evict the victim
  int unit;
  int parent;
};

class EveryPolicy : public testing::TestWithParam<std::string_view> {
 protected:
  EveryPolicy() : policy_(make_policy(GetParam()).value()) {}

  // A unit that is gone is freed, so that the address sanitizer sees a link that was left behind.
  void drop(int unit) {
    policy_->erase(*units_.at(unit));
    units_.erase(unit);
  }
  void add(int unit, std::optional<int> parent = {}) {
    auto [at, fresh] = units_.emplace(unit, std::make_unique<Evictable>(1_B));
    ASSERT_TRUE(fresh);
    policy_->insert(*at->second, parent ? units_.at(*parent).get() : nullptr);
  }
  std::optional<int> victim() const {
    const Evictable* const chosen = policy_->victim();
    for (const auto& [unit, record] : units_)
      if (record.get() == chosen) return unit;
    EXPECT_EQ(chosen, nullptr);
    return std::nullopt;
  }
  std::vector<int> drain() {
    std::vector<int> order;
    for (auto next = victim(); next; next = victim()) {
      order.push_back(*next);
      drop(*next);
    }
    return order;
  }

  std::unique_ptr<EvictionPolicy> policy_;
  std::map<int, std::unique_ptr<Evictable>> units_;
};

TEST_P(EveryPolicy, ChoosesLikeAPlainScanOverTheFacts) {
  const AssertionHandler before = set_assertion_handler(throw_broken_invariant);
  const bool held = rc::check([&] {
    policy_ = make_policy(GetParam()).value();
    units_.clear();
    Reference reference(GetParam());
    const auto steps = *rc::gen::container<std::vector<Step>>(rc::gen::construct<Step>(
        rc::gen::inRange(0, 5), rc::gen::inRange(0, 12), rc::gen::inRange(-4, 12)));
    for (const Step& step : steps) {
      const bool known = reference.contains(step.unit);
      if (step.kind <= 1 && !known) {
        std::optional<int> parent;
        if (reference.contains(step.parent)) parent = step.parent;
        add(step.unit, parent);
        reference.insert(step.unit, parent);
      } else if (step.kind <= 1) {
        policy_->access(*units_.at(step.unit));
        reference.access(step.unit);
      } else if (step.kind == 2 && known) {
        drop(step.unit);
        reference.erase(step.unit);
      } else if (step.kind == 3 && known) {
        policy_->defer(*units_.at(step.unit));
        reference.defer(step.unit);
      } else if (step.kind == 4 && reference.size() > 0) {
        const int next = *victim();
        RC_ASSERT(next == *reference.victim());
        drop(next);
        reference.erase(next);
      }
      policy_->check_invariants();
      RC_ASSERT(policy_->size() == reference.size());
      RC_ASSERT(victim() == reference.victim());
    }
  });
  set_assertion_handler(before);
  EXPECT_TRUE(held);
}

TEST_P(EveryPolicy, AFreshUnitGoesLast) {
  for (int unit = 0; unit < 5; ++unit) add(unit);
  for (int unit = 0; unit < 5; ++unit) policy_->access(*units_.at(unit));
  add(5);
  EXPECT_EQ(drain(), (std::vector{0, 1, 2, 3, 4, 5}));
}

TEST_P(EveryPolicy, WhereNothingMayGoAWalkSeesEachUnitOnce) {
  for (int unit = 0; unit < 100; ++unit) add(unit);
  const std::uint64_t start = policy_->newest_stamp();
  std::vector<int> seen;
  while (policy_->victim()->stamp <= start) {
    seen.push_back(*victim());
    policy_->defer(*policy_->victim());
  }
  ASSERT_EQ(seen.size(), 100u);
  EXPECT_TRUE(std::ranges::is_sorted(seen));
  EXPECT_TRUE(std::ranges::adjacent_find(seen) == seen.end());
}

TEST_P(EveryPolicy, AnEmptyOneHasNoVictim) {
  EXPECT_EQ(policy_->victim(), nullptr);
  add(1);
  drop(1);
  EXPECT_EQ(policy_->victim(), nullptr);
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
  const auto result = make_policy("mru");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::invalid_params);
  EXPECT_EQ(result.error().facts().detail,
            "no eviction policy is named 'mru'; there are lru, fifo, leaf-first");
}

class LeafFirst : public testing::Test {
 protected:
  Evictable& add(const Evictable* parent = nullptr) {
    units_.push_back(std::make_unique<Evictable>(1_B));
    policy_->insert(*units_.back(), parent);
    return *units_.back();
  }
  std::unique_ptr<EvictionPolicy> policy_ = make_policy("leaf-first").value();
  std::vector<std::unique_ptr<Evictable>> units_;
};

TEST_F(LeafFirst, APrefixGoesFromItsEnd) {
  const Evictable& a = add();
  const Evictable& b = add(&a);
  Evictable& c = add(&b);
  EXPECT_EQ(policy_->victim(), &c);
  policy_->erase(c);
  EXPECT_EQ(policy_->victim(), &b);
}

TEST_F(LeafFirst, AUnitThatIsALeafAgainStandsWhereItsLastUsePutsIt) {
  Evictable& older = add();
  Evictable& parent = add();
  Evictable& newer = add();
  Evictable& child = add(&parent);
  policy_->erase(child);
  EXPECT_EQ(policy_->victim(), &older);
  policy_->erase(older);
  EXPECT_EQ(policy_->victim(), &parent);
  Evictable& another = add(&parent);
  policy_->access(parent);  // used while it is no candidate
  policy_->erase(another);
  EXPECT_EQ(policy_->victim(), &newer);
}

TEST_F(LeafFirst, AParentThatComesAgainDoesNotAdoptItsFormerChildren) {
  Evictable& parent = add();
  Evictable& child = add(&parent);
  policy_->erase(parent);
  policy_->insert(parent, nullptr);
  policy_->access(child);
  EXPECT_EQ(policy_->victim(), &parent);
  policy_->erase(child);
  policy_->check_invariants();
  EXPECT_EQ(policy_->victim(), &parent);
}

TEST_F(LeafFirst, AParentWithManyChildrenLeavesThemAsRootsInTheOrderOfTheirUse) {
  Evictable& parent = add();
  for (int i = 0; i < 1000; ++i) add(&parent);
  policy_->erase(parent);
  policy_->check_invariants();
  ASSERT_EQ(policy_->size(), 1000u);
  for (std::size_t i = 1; i <= 1000; ++i) {
    ASSERT_EQ(policy_->victim(), units_[i].get());
    policy_->erase(*units_[i]);
  }
}

}  // namespace
}  // namespace larder
