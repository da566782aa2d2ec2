#include "core/eviction/eviction_order.h"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <utility>

#include "core/base/archive.h"
#include "tests/support/names_as_they_come.h"
#include "tests/support/victim.h"

namespace larder {
namespace {

class Order : public testing::Test {
 protected:
  NamesAsTheyCome names_;
  EvictionOrder order_ = EvictionOrder::make("leaf-first", names_).value();
  Evictable a_{10_B}, b_{20_B}, c_{30_B};
};

TEST_F(Order, BytesAreTheSumOfWhatStandsInIt) {
  order_.insert(a_, {});
  order_.insert(b_, {.soft_pinned = true});
  order_.insert(c_, {});
  order_.want(c_);
  EXPECT_EQ(order_.bytes(), 60_B);
  EXPECT_EQ(order_.wanted_bytes(), 30_B);
  order_.resize(c_, 5_B);
  order_.resize(a_, 11_B);
  EXPECT_EQ(order_.bytes(), 36_B);
  EXPECT_EQ(order_.wanted_bytes(), 5_B);
  order_.check_invariants();
  order_.erase(c_);
  order_.erase(a_);
  EXPECT_EQ(order_.bytes(), 20_B);
  EXPECT_EQ(order_.wanted_bytes(), 0_B);
  EXPECT_EQ(order_.size(), 1u);
  order_.check_invariants();
}

TEST_F(Order, AFullLeaseBringsAWantedUnitBackAsTheMostRecentlyUsed) {
  order_.insert(a_, {});
  order_.insert(b_, {});
  order_.want(a_);
  EXPECT_TRUE(EvictionOrder::is_wanted(a_));
  EXPECT_EQ(order_.first_wanted(), &a_);
  order_.access(a_);
  EXPECT_EQ(order_.first_wanted(), nullptr);
  EXPECT_EQ(first_victim(order_.normal()), &b_);
  order_.check_invariants();
}

TEST_F(Order, AWantedSoftPinnedUnitComesBackSoftPinned) {
  order_.insert(a_, {.soft_pinned = true});
  order_.want(a_);
  order_.defer(a_);
  EXPECT_EQ(first_victim(order_.soft_pinned()), &a_);
  EXPECT_EQ(first_victim(order_.normal()), nullptr);
}

TEST_F(Order, ASoftPinThatEndsMovesTheUnitAmongTheNormalOnes) {
  order_.insert(a_, {.soft_pinned = true});
  order_.insert(b_, {});
  order_.set_soft_pinned(a_, false);
  order_.set_soft_pinned(a_, false);
  EXPECT_EQ(order_.normal().size(), 2u);
  EXPECT_EQ(first_victim(order_.normal()), &b_);
  EXPECT_EQ(order_.soft_pinned().size(), 0u);
  order_.check_invariants();
}

TEST_F(Order, AParentElsewhereOrTheUnitItselfMakesARoot) {
  order_.insert(a_, {.soft_pinned = true});
  order_.insert(b_, {.parent = &a_});
  order_.insert(c_, {.parent = &c_});
  order_.check_invariants();
  EXPECT_EQ(first_victim(order_.soft_pinned()), &a_);
  EXPECT_EQ(first_victim(order_.normal()), &b_);
}

TEST_F(Order, AParentInTheSamePolicyOutlivesItsChild) {
  order_.insert(a_, {});
  order_.insert(b_, {.parent = &a_});
  EXPECT_EQ(first_victim(order_.normal()), &b_);
}

TEST_F(Order, MovesWithWhatStandsInIt) {
  order_.insert(a_, {});
  order_.want(a_);
  EvictionOrder moved = std::move(order_);
  EXPECT_EQ(moved.first_wanted(), &a_);
  moved.check_invariants();
  moved.erase(a_);
  EXPECT_EQ(moved.first_wanted(), nullptr);
}

TEST_F(Order, AnUnknownPolicyIsRefused) {
  EXPECT_EQ(EvictionOrder::make("", names_).error().code(), ErrorCode::invalid_params);
}

TEST_F(Order, OnLoadingAUnitOfTheOtherPolicyIsRefused) {
  order_.insert(a_, {});
  std::string bytes;
  Archive saving([&](std::span<const std::byte> piece) {
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  });
  order_.archive(saving);
  saving.finish();
  for (const Evictable::Place place : {Evictable::Place::normal, Evictable::Place::soft_pinned}) {
    Evictable copy{10_B};
    copy.place = place;
    copy.line = Evictable::Line::first;
    NamesAsTheyCome names;
    names.name(copy);
    EvictionOrder order = EvictionOrder::make("leaf-first", names).value();
    Archive loading(std::as_bytes(std::span(bytes)));
    order.archive(loading);
    EXPECT_EQ(loading.good(), place == a_.place);
  }
}

}  // namespace
}  // namespace larder
