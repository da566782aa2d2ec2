#include "core/catalog/slab.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "core/catalog/deadlines.h"

namespace larder {
namespace {

struct Counted {
  explicit Counted(int& alive) : alive_(alive) { ++alive_; }
  ~Counted() { --alive_; }
  int& alive_;
};

TEST(Slab, RecordsKeepTheirAddressesAndSlots) {
  Slab<int> slab;
  std::vector<int*> addresses;
  for (int i = 0; i < 1000; ++i) {
    auto [record, slot] = slab.emplace(i);
    EXPECT_EQ(slot, static_cast<std::uint32_t>(i));
    addresses.push_back(&record);
  }
  for (std::uint32_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(slab.at(i), addresses[i]);
    EXPECT_EQ(*slab.at(i), static_cast<int>(i));
  }
}

TEST(Slab, AVacantSlotIsNullAndTheLastFreedIsUsedFirst) {
  Slab<int> slab;
  for (int i = 0; i < 130; ++i) slab.emplace(i);
  slab.erase(3);
  slab.erase(100);
  EXPECT_EQ(slab.at(3), nullptr);
  EXPECT_EQ(slab.at(130), nullptr);
  EXPECT_EQ(slab.size(), 128u);
  EXPECT_EQ(slab.emplace(1).slot, 100u);
  EXPECT_EQ(slab.emplace(1).slot, 3u);
  EXPECT_EQ(slab.emplace(1).slot, 130u);
  EXPECT_EQ(slab.slots(), 131u);
}

TEST(Slab, EveryRecordIsDestroyedOnce) {
  int alive = 0;
  {
    Slab<Counted> slab;
    for (int i = 0; i < 100; ++i) slab.emplace(alive);
    slab.erase(50);
    EXPECT_EQ(alive, 99);
  }
  EXPECT_EQ(alive, 0);
}

TEST(SlabDeathTest, AVacantSlotCannotBeErased) {
  Slab<int> slab;
  slab.emplace(1);
  slab.erase(0);
  EXPECT_DEATH(slab.erase(0), "the slot is vacant");
}

TEST(Deadlines, PopInTheOrderOfTimeThenKeyAndNotBeforeTheyAreDue) {
  Deadlines<int> due;
  const auto at = [](int second) { return Time(std::chrono::seconds(second)); };
  EXPECT_EQ(due.next(), std::nullopt);
  due.arm(at(5), 1);
  due.arm(at(3), 9);
  due.arm(at(3), 2);
  due.arm(at(4), 7);
  due.disarm(at(4), 7);
  due.disarm(at(4), 8);
  EXPECT_EQ(due.next(), at(3));
  EXPECT_EQ(due.pop(at(3) - Duration(1)), std::nullopt);
  EXPECT_EQ(due.pop(at(3)), 2);
  EXPECT_EQ(due.pop(at(5)), 9);
  EXPECT_EQ(due.pop(at(5)), 1);
  EXPECT_EQ(due.pop(at(5)), std::nullopt);
}

}  // namespace
}  // namespace larder
