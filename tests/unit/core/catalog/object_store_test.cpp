#include "core/catalog/object_store.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "core/base/random.h"

namespace larder {
namespace {

TEST(ObjectStore, EachObjectKeepsItsAddressItsSlotAndItsKey) {
  ObjectStore store;
  std::vector<std::pair<Object*, std::string>> made;
  Random random(1);
  for (int i = 0; i < 5000; ++i) {
    std::string key(1 + random.below(key_bytes_max), static_cast<char>('a' + i % 26));
    made.emplace_back(&store.emplace(key), key);
  }
  std::set<std::uint32_t> slots;
  for (const auto& [object, key] : made) {
    EXPECT_EQ(object->key(), key);
    EXPECT_EQ(store.at(object->slot), object);
    slots.insert(object->slot);
  }
  EXPECT_EQ(slots.size(), made.size());
  EXPECT_LT(*slots.rbegin(), store.slots());
  EXPECT_EQ(store.size(), made.size());
}

TEST(ObjectStore, AWalkOverTheSlotsFindsJustWhatIsThere) {
  ObjectStore store;
  std::vector<Object*> made;
  for (int i = 0; i < 1000; ++i) {
    made.push_back(&store.emplace(std::string(static_cast<std::size_t>(i % 100), 'k')));
  }
  std::set<Object*> left(made.begin(), made.end());
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (i % 3 == 0) continue;
    left.erase(made[i]);
    store.erase(*made[i]);
  }
  std::set<Object*> seen;
  for (std::uint32_t slot = 0; slot < store.slots(); ++slot) {
    if (Object* object = store.at(slot)) seen.insert(object);
  }
  EXPECT_EQ(seen, left);
  EXPECT_EQ(store.at(store.slots()), nullptr);
  EXPECT_EQ(store.at(0xffffffff), nullptr);
}

TEST(ObjectStore, AVacantSlotIsUsedAgainByAKeyOfNearlyTheSameLength) {
  ObjectStore store;
  Object& first = store.emplace("12345");
  const std::uint32_t slot = first.slot;
  store.emplace("another");
  store.erase(first);
  EXPECT_EQ(store.at(slot), nullptr);
  EXPECT_NE(store.emplace(std::string(100, 'k')).slot, slot);
  EXPECT_EQ(store.emplace("1234567890123456").slot, slot);
}

TEST(ObjectStore, WhatComesAndGoesForEverTakesNoMoreSlots) {
  ObjectStore store;
  std::vector<Object*> alive;
  Random random(2);
  std::uint32_t slots = 0;
  for (int i = 0; i < 100'000; ++i) {
    if (alive.size() == 1000) {
      const std::size_t at = random.below(alive.size());
      store.erase(*alive[at]);
      alive[at] = alive.back();
      alive.pop_back();
    }
    alive.push_back(&store.emplace(std::string(60 + random.below(5), 'k')));
    if (i == 5000) slots = store.slots();
  }
  EXPECT_LE(store.slots(), slots + 128);
}

}  // namespace
}  // namespace larder
