#include "core/catalog/key_index.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "core/base/random.h"

namespace larder {
namespace {

const auto any = [](std::uint32_t) { return true; };

TEST(KeyIndex, FindsWhatWasInsertedAndNothingElse) {
  KeyIndex index;
  Random random(1);
  std::map<std::uint64_t, std::uint32_t> inserted;
  for (std::uint32_t slot = 0; slot < 20'000; ++slot) {
    const std::uint64_t hash = random.next();
    inserted.emplace(hash, slot);
    index.insert(hash, slot);
  }
  index.check_invariants();
  EXPECT_EQ(index.size(), 20'000u);
  for (const auto& [hash, slot] : inserted) {
    EXPECT_EQ(index.find(hash, [&](std::uint32_t found) { return found == slot; }), slot);
  }
  std::size_t touched = 0;
  for (int i = 0; i < 20'000; ++i) {
    EXPECT_EQ(index.find(random.next(), [&](std::uint32_t) { return ++touched == 0; }),
              KeyIndex::none);
  }
  EXPECT_LT(touched, 5u) << "a miss touches no object";
}

TEST(KeyIndex, KeysOfOneHashAreToldApartByTheCaller) {
  KeyIndex index;
  constexpr std::uint64_t hash = 0x0123456789abcdef;
  for (std::uint32_t slot = 0; slot < 100; ++slot) index.insert(hash, slot);
  for (std::uint32_t slot = 0; slot < 100; slot += 2) index.erase(hash, slot);
  index.check_invariants();
  for (std::uint32_t slot = 0; slot < 100; ++slot) {
    const std::uint32_t found = index.find(hash, [&](std::uint32_t at) { return at == slot; });
    EXPECT_EQ(found, slot % 2 == 0 ? KeyIndex::none : slot);
  }
}

TEST(KeyIndex, TheLargestHashesFindPlaceBehindTheLastHome) {
  KeyIndex index;
  constexpr std::uint64_t most = ~std::uint64_t{0};
  for (std::uint32_t slot = 0; slot < 1000; ++slot) index.insert(most, slot);
  index.check_invariants();
  for (std::uint32_t slot = 0; slot < 1000; ++slot) index.erase(most, slot);
  index.check_invariants();
  EXPECT_EQ(index.find(most, any), KeyIndex::none);
  EXPECT_EQ(index.size(), 0u);
}

TEST(KeyIndex, IsWholeWhenItsPartsHaveGrown) {
  KeyIndex index;
  Random random(7);
  std::vector<std::uint64_t> hashes;
  for (std::uint32_t slot = 0; slot < 30'000; ++slot) {
    // Those at both ends all fall into one part.
    const std::uint64_t any_hash = random.next();
    hashes.push_back(slot % 3 == 0 ? any_hash : slot % 3 == 1 ? any_hash >> 12 : ~(any_hash >> 12));
    index.insert(hashes.back(), slot);
    if (slot % 97 != 0) continue;
    index.check_invariants();
    for (std::uint32_t i = 0; i <= slot; i += 7) {
      ASSERT_EQ(index.find(hashes[i], [&](std::uint32_t at) { return at == i; }), i);
    }
  }
  for (std::uint32_t i = 0; i < hashes.size(); i += 2) index.erase(hashes[i], i);
  index.check_invariants();
  for (std::uint32_t i = 0; i < hashes.size(); ++i) {
    ASSERT_EQ(index.find(hashes[i], [&](std::uint32_t at) { return at == i; }),
              i % 2 == 0 ? KeyIndex::none : i);
  }
}

TEST(KeyIndexDeathTest, WhatIsNotThereCannotBeErased) {
  KeyIndex index;
  index.insert(1, 1);
  EXPECT_DEATH(index.erase(1, 2), "the slot is there");
}

RC_GTEST_PROP(KeyIndex, ActsAsAMapOfSets, ()) {
  KeyIndex index;
  std::map<std::uint64_t, std::set<std::uint32_t>> model;
  std::uint32_t next = 0;
  std::size_t size = 0;
  // Few different hashes, near each other at both ends, so that runs meet and are taken apart.
  const auto some_hash = [] {
    const auto low = *rc::gen::inRange<std::uint64_t>(0, 40);
    return *rc::gen::arbitrary<bool>() ? low << 58 : ~(low << 30);
  };
  const int steps = *rc::gen::inRange(0, 600);
  for (int i = 0; i < steps; ++i) {
    const std::uint64_t hash = some_hash();
    std::set<std::uint32_t>& slots = model[hash];
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        if (slots.empty()) break;
        index.erase(hash, *slots.begin());
        slots.erase(slots.begin());
        --size;
        break;
      case 1:
        if (slots.empty()) break;
        index.replace(hash, *slots.begin(), next);
        slots.erase(slots.begin());
        slots.insert(next++);
        break;
      default:
        index.insert(hash, next);
        slots.insert(next++);
        ++size;
    }
  }
  index.check_invariants();
  RC_ASSERT(index.size() == size);
  for (const auto& [hash, slots] : model) {
    // Those of the same upper half are all asked about.
    for (const std::uint32_t slot : slots) {
      RC_ASSERT(index.find(hash, [&](std::uint32_t at) { return at == slot; }) == slot);
    }
    if (slots.empty()) {
      RC_ASSERT(index.find(hash, [&](std::uint32_t at) { return slots.contains(at); }) ==
                KeyIndex::none);
    }
  }
}

}  // namespace
}  // namespace larder
