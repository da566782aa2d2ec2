#include "core/catalog/catalog.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/protocol/limits.h"
#include "tests/support/victim.h"

namespace larder {
namespace {

using namespace std::chrono_literals;

struct What {
  std::string group = {};
  std::string parent = {};
  Duration soft_pin{0};
  Duration time_to_live{0};
  bool hard_pin = false;
  Bytes bytes = 100_B;
};

class CatalogTest : public ::testing::Test {
 protected:
  Catalog::Name name(std::string_view text) const { return Catalog::name(0, text); }
  static std::optional<Catalog::Name> optional_name(std::string_view text) {
    return text.empty() ? std::nullopt : std::optional(Catalog::name(0, text));
  }
  Object& start(std::string_view key, const What& what = {}) {
    Object& object = catalog.add_unfinished(name(key), {.beside = catalog.find(name(key)).current,
                                                        .put_id = next(),
                                                        .size = 50_B,
                                                        .hard_pin = what.hard_pin,
                                                        .group = optional_name(what.group)});
    object.put = 0;
    object.replicas.push_back({.segment = 0, .state = ReplicaState::processing});
    return object;
  }
  void publish(Object& object, const What& what = {}) {
    object.replicas[0].state = ReplicaState::complete;
    catalog.publish(object,
                    {.now = now,
                     .soft_pin = what.soft_pin,
                     .time_to_live = what.time_to_live,
                     .parent = optional_name(what.parent)},
                    what.bytes);
    catalog.check_invariants();
  }
  Object& add(std::string_view key, const What& what = {}) {
    Object& object = start(key, what);
    publish(object, what);
    return object;
  }
  Object& restore(std::string_view key, const What& what = {}) {
    Object& object =
        catalog.restore(name(key),
                        {.put_id = next(),
                         .size = 50_B,
                         .hard_pin = what.hard_pin,
                         .group = optional_name(what.group)},
                        {.now = now, .soft_pin = what.soft_pin, .time_to_live = what.time_to_live},
                        {.segment = 0, .state = ReplicaState::complete}, what.bytes);
    catalog.check_invariants();
    return object;
  }
  void erase(Object& object) {
    catalog.erase(object);
    catalog.check_invariants();
  }
  PutId next() { return {.epoch = {1}, .counter = ++counter}; }
  Evictable* victim() {
    if (Evictable* normal = first_victim(catalog.order().normal())) return normal;
    return first_victim(catalog.order().soft_pinned());
  }

  Catalog catalog{"lru"};
  std::uint64_t counter = 0;
  Time now{1000s};
};

TEST_F(CatalogTest, TenantsHaveNumbersOfTheirOwnAndKeysBelongToOne) {
  const TenantId a = catalog.tenant("a").value();
  const TenantId b = catalog.tenant("b").value();
  EXPECT_NE(a, b);
  EXPECT_EQ(catalog.tenant("a").value(), a);
  EXPECT_EQ(catalog.tenant_name(b), "b");
  EXPECT_EQ(catalog.find_tenant("b"), b);
  EXPECT_EQ(catalog.find_tenant("c"), std::nullopt) << "asking makes none";
  Object& object = catalog.add_unfinished(Catalog::name(a, "k"), {.put_id = next(), .size = 1_B});
  object.put = 0;
  EXPECT_EQ(catalog.find(Catalog::name(b, "k")).unfinished, nullptr);
  EXPECT_EQ(catalog.find(Catalog::name(a, "k")).unfinished, &object);
}

TEST_F(CatalogTest, AnUnfinishedVersionStandsBesideTheCompleteOneAndReplacesIt) {
  Object& old = add("k");
  Object& newer = start("k");
  EXPECT_EQ(catalog.find(name("k")).current, &old);
  EXPECT_EQ(catalog.find(name("k")).unfinished, &newer);
  EXPECT_EQ(catalog.complete_objects(), 1u);
  erase(old);
  EXPECT_EQ(catalog.find(name("k")).current, nullptr);
  publish(newer);
  EXPECT_EQ(catalog.find(name("k")).current, &newer);
  EXPECT_EQ(catalog.find(name("k")).unfinished, nullptr);
}

TEST_F(CatalogTest, B2AFailedVersionLeavesTheCompleteOne) {
  Object& old = add("k");
  erase(start("k"));
  EXPECT_EQ(catalog.find(name("k")).current, &old);
  erase(start("k"));
  erase(old);
  EXPECT_EQ(catalog.size(), 0u);
}

TEST_F(CatalogTest, AKeyIsAnyBytesWithLengthAndZerosCounted) {
  using namespace std::string_view_literals;
  for (const std::string_view key : {"a"sv, "a\0"sv, "a\0b"sv, "\0"sv, "\0\0"sv}) {
    EXPECT_EQ(add(key).key(), key);
  }
  EXPECT_EQ(catalog.complete_objects(), 5u);
}

TEST_F(CatalogTest, ARestoredVersionStandsUnderAnUnfinishedPutOfTheKey) {
  Object& unfinished = start("k");
  Object& restored = restore("k");
  EXPECT_EQ(catalog.find(name("k")).current, &restored);
  EXPECT_EQ(catalog.find(name("k")).unfinished, &unfinished);
  erase(restored);
  EXPECT_EQ(catalog.find(name("k")).unfinished, &unfinished);
  publish(unfinished);
  EXPECT_EQ(catalog.find(name("k")).current, &unfinished);
}

TEST_F(CatalogTest, AGroupIsOneUnitOfAllItsBytes) {
  Object& k = add("k", {.group = "g"});
  Object& v = add("v", {.group = "g", .bytes = 300_B});
  EXPECT_EQ(&catalog.unit(k), &catalog.unit(v));
  EXPECT_EQ(catalog.order().size(), 1u);
  EXPECT_EQ(catalog.order().bytes(), 400_B);
  catalog.add_replica(v, {.segment = 1, .state = ReplicaState::complete}, 300_B);
  EXPECT_EQ(catalog.order().bytes(), 700_B);
  catalog.drop_replica(v, 1, 400_B);
  EXPECT_EQ(catalog.order().bytes(), 300_B);
  erase(k);
  EXPECT_EQ(catalog.order().bytes(), 200_B);
  erase(v);
  EXPECT_EQ(catalog.find_group(name("g")), nullptr);
  EXPECT_EQ(catalog.order().size(), 0u);
}

TEST_F(CatalogTest, AnUnfinishedMemberCountsForTheLimitButNotForBytes) {
  Object& k = start("k", {.group = "g"});
  EXPECT_EQ(catalog.order().size(), 0u);
  EXPECT_EQ(catalog.find_group(name("g"))->members.size(), 1u);
  add("v", {.group = "g"});
  EXPECT_EQ(catalog.order().bytes(), 100_B);
  publish(k, {.group = "g"});
  EXPECT_EQ(catalog.order().bytes(), 200_B);
}

TEST_F(CatalogTest, AGroupHasRoomForAThousandAndTwentyFour) {
  for (std::uint32_t i = 0; i < group_members_max; ++i) {
    ASSERT_TRUE(catalog.group_has_room(name("g")));
    start("k" + std::to_string(i), {.group = "g"});
  }
  EXPECT_FALSE(catalog.group_has_room(name("g")));
  EXPECT_TRUE(catalog.group_has_room(name("other")));
  catalog.erase(*catalog.find(name("k7")).unfinished);
  EXPECT_TRUE(catalog.group_has_room(name("g")));
}

TEST_F(CatalogTest, MembersLeaveInAnyOrder) {
  std::vector<Object*> members;
  for (int i = 0; i < 5; ++i) members.push_back(&add("k" + std::to_string(i), {.group = "g"}));
  for (const int i : {2, 4, 0, 3, 1}) erase(*members[static_cast<std::size_t>(i)]);
  EXPECT_EQ(catalog.size(), 0u);
  EXPECT_EQ(catalog.find_group(name("g")), nullptr);
}

TEST_F(CatalogTest, OneHardPinnedMemberHoldsItsGroupUntilItLeaves) {
  add("k", {.group = "g"});
  Object& pinned = add("v", {.group = "g", .hard_pin = true});
  EXPECT_EQ(catalog.order().size(), 0u);
  add("w", {.group = "g"});
  EXPECT_EQ(catalog.order().size(), 0u);
  erase(pinned);
  EXPECT_EQ(catalog.order().bytes(), 200_B);
}

TEST_F(CatalogTest, AHardPinnedObjectIsNeverAVictim) {
  add("k", {.soft_pin = 5s, .hard_pin = true});
  EXPECT_EQ(victim(), nullptr);
  EXPECT_EQ(catalog.next_deadline(), std::nullopt) << "a soft pin means nothing beside it";
}

TEST_F(CatalogTest, SoftPinnedObjectsGoLastUntilTheirPinEnds) {
  Object& pinned = add("pinned", {.soft_pin = 5s});
  Object& normal = add("normal");
  EXPECT_EQ(victim(), &normal);
  EXPECT_EQ(catalog.next_deadline(), now + 5s);
  EXPECT_FALSE(catalog.end_soft_pin(now + 5s - 1ns));
  EXPECT_TRUE(catalog.end_soft_pin(now + 5s));
  EXPECT_FALSE(catalog.end_soft_pin(now + 5s));
  erase(normal);
  EXPECT_EQ(first_victim(catalog.order().normal()), &pinned);
}

TEST_F(CatalogTest, B10AReadDoesNotMoveTheEndOfAPin) {
  Object& pinned = add("k", {.soft_pin = 5s});
  now += 4s;
  catalog.grant_lease(pinned, now, now + 10s);
  EXPECT_EQ(catalog.next_deadline(), Time(1005s));
  EXPECT_TRUE(catalog.end_soft_pin(Time(1005s)));
}

TEST_F(CatalogTest, AGroupIsSoftPinnedWhileAnyMemberIs) {
  add("k", {.group = "g"});
  Object& first = add("v", {.group = "g", .soft_pin = 5s});
  add("w", {.group = "g", .soft_pin = 9s});
  EXPECT_EQ(catalog.order().soft_pinned().size(), 1u);
  erase(first);
  EXPECT_EQ(catalog.order().soft_pinned().size(), 1u);
  EXPECT_FALSE(catalog.end_soft_pin(now + 5s)) << "a pin of what was erased is no deadline";
  EXPECT_TRUE(catalog.end_soft_pin(now + 9s));
  EXPECT_EQ(catalog.order().soft_pinned().size(), 0u);
  EXPECT_EQ(catalog.order().normal().size(), 1u);
}

TEST_F(CatalogTest, AGroupIsNoLongerSoftPinnedWhenItsOnlyPinnedMemberLeaves) {
  add("k", {.group = "g"});
  Object& pinned = add("v", {.group = "g", .soft_pin = 5s});
  erase(pinned);
  EXPECT_EQ(catalog.order().soft_pinned().size(), 0u);
  EXPECT_EQ(catalog.order().normal().size(), 1u);
}

TEST_F(CatalogTest, AGroupThatLosesItsHardPinIsStillSoftPinned) {
  Object& hard = add("k", {.group = "g", .hard_pin = true});
  add("v", {.group = "g", .soft_pin = 5s});
  erase(hard);
  EXPECT_EQ(catalog.order().soft_pinned().size(), 1u);
}

TEST_F(CatalogTest, ExpiredObjectsComeEarliestFirstAndOnlyWhenDue) {
  Object& late = add("late", {.time_to_live = 9s});
  Object& early = add("early", {.time_to_live = 3s});
  add("never");
  EXPECT_EQ(catalog.next_deadline(), now + 3s);
  EXPECT_EQ(catalog.pop_expired(now + 3s - 1ns), nullptr);
  EXPECT_EQ(catalog.pop_expired(now + 3s), &early);
  erase(early);
  EXPECT_EQ(catalog.pop_expired(now + 3s), nullptr);
  erase(late);
  EXPECT_EQ(catalog.next_deadline(), std::nullopt) << "what was erased does not expire";
}

TEST_F(CatalogTest, DurationsBeyondTheEndOfTimeMeanNever) {
  Object& object = add("k", {.soft_pin = Duration::max(), .time_to_live = Duration::max()});
  EXPECT_EQ(catalog.expires(object), time_never);
  EXPECT_EQ(catalog.pop_expired(now + 1000h), nullptr);
  erase(object);
}

TEST_F(CatalogTest, ALeaseIsNamedByItsUnitAndRound) {
  Object& k = add("k", {.group = "g"});
  Object& v = add("v", {.group = "g"});
  Object& lone = add("lone");
  const auto of_k = catalog.grant_lease(k, now, now + 10s);
  const auto of_v = catalog.grant_lease(v, now, now + 10s);
  const auto of_lone = catalog.grant_lease(lone, now, now + 10s);
  EXPECT_EQ(of_k.slot, of_v.slot);
  EXPECT_NE(of_k.slot, of_lone.slot);
  catalog.give_back(of_k);
  EXPECT_TRUE(catalog.unit(k).lease.leased(now));
  catalog.give_back(of_v);
  EXPECT_FALSE(catalog.unit(k).lease.leased(now));
  EXPECT_TRUE(lone.lease.leased(now));
  catalog.give_back({.slot = of_lone.slot, .round = of_k.round});
  catalog.give_back({.slot = 12345, .round = of_lone.round});
  catalog.give_back({.slot = 0xffffffff, .round = of_lone.round});
  EXPECT_TRUE(lone.lease.leased(now));
}

TEST_F(CatalogTest, AGiveBackDoesNotMeetTheNextObjectInTheSameSlot) {
  Object& first = add("first");
  const std::uint32_t slot = first.slot;
  const auto lease = catalog.grant_lease(first, now, now + 10s);
  erase(first);
  Object& second = add("second");
  ASSERT_EQ(second.slot, slot);
  catalog.grant_lease(second, now, now + 10s);
  catalog.give_back(lease);
  EXPECT_TRUE(second.lease.leased(now));
}

TEST_F(CatalogTest, AFullLeaseRefreshesRecencyAndAShortOneDoesNot) {
  Object& a = add("a");
  Object& b = add("b");
  catalog.grant_exists_lease(a, now, now + 1s);
  EXPECT_EQ(victim(), &a);
  catalog.grant_lease(a, now, now + 10s);
  EXPECT_EQ(victim(), &b);
}

TEST_F(CatalogTest, B3WhatEvictionWantsGetsNoNewShortLease) {
  Object& object = add("k");
  catalog.grant_exists_lease(object, now, now + 1s);
  catalog.order().want(object);
  catalog.grant_exists_lease(object, now, now + 5s);
  EXPECT_EQ(object.lease.left(now), 1s);
  catalog.grant_lease(object, now, now + 10s);
  catalog.grant_exists_lease(object, now, now + 20s);
  EXPECT_EQ(object.lease.left(now), 20s) << "a reader took it out of eviction's hands";
}

TEST_F(CatalogTest, B19AFreshVersionIsTheMostRecentlyUsed) {
  Object& a = add("a");
  add("b");
  Object& newer = start("a");
  erase(a);
  publish(newer);
  EXPECT_EQ(victim(), catalog.find(name("b")).current);
}

TEST_F(CatalogTest, AHeldObjectStaysLeasedUntilThen) {
  Object& object = restore("k");
  catalog.hold(object, now + 10s);
  catalog.hold(object, now + 5s);
  EXPECT_EQ(object.lease.left(now), 10s);
}

TEST_F(CatalogTest, AParentIsAKeyOrAGroupOrNothing) {
  Catalog leaf_first("leaf-first");
  const auto put_in = [&](std::string_view key, std::string_view group, std::string_view parent) {
    Object& object = leaf_first.add_unfinished(
        name(key), {.put_id = next(), .size = 1_B, .group = optional_name(group)});
    object.put = 0;
    object.replicas.push_back({.segment = 0, .state = ReplicaState::complete});
    leaf_first.publish(object, {.now = now, .parent = optional_name(parent)}, 64_B);
    leaf_first.check_invariants();
    return &object;
  };
  Object* root = put_in("root", "", "nobody");
  Object* page = put_in("k", "page", "root");
  Object* leaf = put_in("leaf", "", "page");
  put_in("self", "own", "own");
  EXPECT_EQ(first_victim(leaf_first.order().normal()), leaf);
  leaf_first.erase(*leaf);
  EXPECT_EQ(first_victim(leaf_first.order().normal()), &leaf_first.unit(*page));
  leaf_first.erase(*page);
  EXPECT_EQ(first_victim(leaf_first.order().normal()), root);
}

TEST_F(CatalogTest, TheDigestSeesEveryObjectAndMovesWithTime) {
  const auto digest = [&](Time at) {
    Digest value;
    catalog.add_to(value, at);
    return value.value();
  };
  const std::uint64_t empty = digest(now);
  Object& object = add("k", {.time_to_live = 9s});
  const std::uint64_t one = digest(now);
  EXPECT_NE(empty, one);
  EXPECT_NE(digest(now + 1s), one);
  catalog.grant_lease(object, now, now + 10s);
  EXPECT_NE(digest(now), one);
}

TEST(CatalogDigest, SeesPinsAndGroups) {
  const Time now{1000s};
  const auto digest_of = [&](const What& what) {
    Catalog catalog("lru");
    const Catalog::Name k = Catalog::name(0, "k");
    Object& object = catalog.add_unfinished(
        k,
        {.put_id = {.epoch = {1}, .counter = 1},
         .size = 50_B,
         .hard_pin = what.hard_pin,
         .group = what.group.empty() ? std::nullopt : std::optional(Catalog::name(0, what.group))});
    object.put = 0;
    object.replicas.push_back({.segment = 0, .state = ReplicaState::complete});
    catalog.publish(object, {.now = now, .soft_pin = what.soft_pin}, what.bytes);
    Digest value;
    catalog.add_to(value, now);
    catalog.erase(object);
    return value.value();
  };
  EXPECT_EQ(digest_of({.group = "g"}), digest_of({.group = "g"}));
  const std::set<std::uint64_t> digests{digest_of({}),
                                        digest_of({.group = "g"}),
                                        digest_of({.group = "h"}),
                                        digest_of({.soft_pin = 9s}),
                                        digest_of({.soft_pin = 8s}),
                                        digest_of({.hard_pin = true})};
  EXPECT_EQ(digests.size(), 6u);
}

}  // namespace
}  // namespace larder
