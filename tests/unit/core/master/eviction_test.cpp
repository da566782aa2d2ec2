#include "tests/unit/core/master/harness.h"

namespace larder::testing {
namespace {

using namespace std::chrono_literals;

// One node of 1 MiB, and objects that take a hundredth of it each.
class EvictionTest : public ::testing::Test {
 protected:
  static constexpr Bytes piece{(1 << 20) / 100 / 64 * 64 - 64};
  static constexpr Bytes extent = piece + 64_B;

  explicit EvictionTest(MasterConfig config = MasterHarness::small_nodes()) : h(config) {
    h.join();
    h.open(alice);
    h.open(bob);
    h.kept_alive = {alice, bob};
  }
  static std::string key(int i) { return "k" + std::to_string(i); }
  void fill(int count) {
    for (int i = 0; i < count; ++i) h.put(alice, key(i), piece);
    h.tick();
  }
  std::uint64_t skips(const std::string& reason) const {
    for (const auto& [name, count] : h.status().eviction_skips) {
      if (name == reason) return count;
    }
    ADD_FAILURE() << "no reason " << reason;
    return 0;
  }
  MasterHarness h;
};

TEST_F(EvictionTest, B19AValueThatAloneIsAboveTheWatermarkStaysUntilItsSpaceIsNeeded) {
  h.put(alice, "big", 1000_KiB);
  h.tick();
  EXPECT_TRUE(h.readable(bob, "big"));
  EXPECT_EQ(h.status().evicted_objects, 0u);
  h.pass(2s);  // the short lease of the question is over
  const Ticket next = h.start(bob, "next", 900_KiB);
  EXPECT_FALSE(h.answered(next));
  h.tick();
  EXPECT_TRUE(h.answer(next).has_value());
  EXPECT_FALSE(h.readable(bob, "big"));
}

TEST_F(EvictionTest, FromTheHighWatermarkDownToTheLowOneLeastRecentlyUsedFirst) {
  fill(94);
  EXPECT_EQ(h.status().evicted_objects, 0u);
  h.read_and_return(bob, key(0));
  h.put(alice, key(94), piece);
  h.put(alice, key(95), piece);
  h.tick();
  EXPECT_GE(h.status().evicted_objects, 5u);
  EXPECT_LE(h.status().evicted_objects, 8u);
  EXPECT_LE(h.status().used, Bytes{1_MiB / 10 * 9});
  EXPECT_GT(h.status().used + extent, Bytes{1_MiB / 10 * 9}) << "no more than was needed";
  EXPECT_TRUE(h.readable(bob, key(0))) << "it was read";
  EXPECT_FALSE(h.readable(bob, key(1)));
  EXPECT_TRUE(h.readable(bob, key(93)));
}

class DeepEvictionTest : public EvictionTest {
 protected:
  static MasterConfig deep() {
    MasterConfig config = MasterHarness::small_nodes();
    config.watermarks = {.high = 0.95, .low = 0.5};
    return config;
  }
  DeepEvictionTest() : EvictionTest(deep()) {}
};

TEST_F(DeepEvictionTest, ARoundOfManyStepsGoesDownToTheLowWatermarkToo) {
  constexpr int fit = 400;
  constexpr Bytes each{(1 << 20) / fit / 64 * 64};  // with its footer
  int count = 0;
  while (h.status().evicted_objects == 0 && count < fit) {
    h.put(alice, key(count++), each - 64_B);
    h.tick();
  }
  EXPECT_LE(h.status().used, Bytes{1_MiB / 2});
  EXPECT_GT(h.status().used + each, Bytes{1_MiB / 2}) << "no more than was needed";
  EXPECT_GT(h.status().evicted_objects, 128u) << "more than one step looks at";
}

TEST_F(EvictionTest, B19AFreshWriteIsTheLastToGo) {
  fill(94);
  for (int i = 200; i < 240; ++i) {
    h.put(alice, key(i), piece);
    h.tick();
  }
  for (int i = 200; i < 240; ++i) EXPECT_TRUE(h.readable(bob, key(i)));
}

TEST_F(EvictionTest, APutThatWaitsForSpaceIsServedByEviction) {
  fill(94);
  const Ticket waits = h.start(bob, "big", 300_KiB);
  h.tick();
  EXPECT_TRUE(h.answer(waits).has_value());
  EXPECT_GE(h.status().evicted_objects, 25u);
}

TEST_F(EvictionTest, APutWaitsForTheRetirementOfWhatIsEvictedForIt) {
  fill(94);
  h.nodes["n0"].confirms = false;
  const Ticket waits = h.start(bob, "big", 300_KiB);
  h.tick();
  EXPECT_FALSE(h.answered(waits));
  const std::uint64_t evicted = h.status().evicted_objects;
  h.tick();
  EXPECT_EQ(h.status().evicted_objects, evicted) << "what awaits retirement counts as free";
  h.confirm("n0");
  EXPECT_TRUE(h.answer(waits).has_value());
}

TEST_F(EvictionTest, GroupsGoWhole) {
  for (int i = 0; i < 31; ++i) {
    for (const char* part : {"k", "v", "s"}) {
      ASSERT_TRUE(h.put_item(
          alice,
          {.key = part + std::to_string(i), .size = piece, .group = "page" + std::to_string(i)}));
    }
  }
  h.read_and_return(bob, "v0");  // the whole page was used
  for (int i = 0; i < 3; ++i) h.put(alice, key(100 + i), piece);
  h.tick();
  EXPECT_GT(h.status().evicted_objects, 0u);
  EXPECT_EQ(h.status().evicted_objects % 3, 0u);
  for (int i = 0; i < 31; ++i) {
    const std::string n = std::to_string(i);
    const bool k = h.readable(bob, "k" + n);
    EXPECT_EQ(k, h.readable(bob, "v" + n));
    EXPECT_EQ(k, h.readable(bob, "s" + n));
    if (i == 0) EXPECT_TRUE(k);
    if (i == 1) EXPECT_FALSE(k);
  }
}

TEST_F(EvictionTest, AGroupWithAnUnfinishedMemberStaysAndIsCounted) {
  ASSERT_TRUE(h.put_item(alice, {.key = "a", .size = piece, .group = "g"}));
  h.call(alice, PutStart{.items = {{.key = "b", .size = piece, .group = "g"}}});
  for (int i = 0; i < 95; ++i) h.put(alice, key(i), piece);
  h.tick();
  EXPECT_TRUE(h.readable(bob, "a"));
  EXPECT_EQ(skips("not_complete"), 1u);
}

TEST_F(EvictionTest, HardPinnedStaySoftPinnedGoLast) {
  ASSERT_TRUE(h.hard_pin(alice, "hard", piece));
  ASSERT_TRUE(h.put_item(alice, {.key = "soft", .size = piece, .soft_pin = 1h}));
  fill(92);
  const Ticket all = h.start(bob, "big", 800_KiB);
  h.tick();
  EXPECT_TRUE(h.answer(all).has_value());
  EXPECT_TRUE(h.readable(bob, "hard"));
  EXPECT_TRUE(h.readable(bob, "soft"));
  h.pass(1s);  // the lease of that question
  const Ticket more = h.start(bob, "more", 210_KiB);
  h.tick();
  EXPECT_FALSE(h.readable(bob, "soft"));
  EXPECT_TRUE(h.readable(bob, "hard"));
  EXPECT_FALSE(h.answered(more)) << "what is free is in two pieces";
}

TEST_F(EvictionTest, ALeasedObjectIsSkippedCountedAndGoesLater) {
  fill(94);
  for (int i = 0; i < 94; ++i) h.get(bob, key(i));
  const Ticket waits = h.start(bob, "big", 300_KiB);
  h.tick();
  EXPECT_FALSE(h.answered(waits));
  EXPECT_EQ(h.status().evicted_objects, 0u);
  EXPECT_EQ(skips("leased"), 94u) << "each once in a round";
  h.pass(1500ms);
  EXPECT_EQ(h.error(waits), ErrorCode::no_available_handle);
  h.pass(9s);
  const Ticket later = h.start(bob, "big", 300_KiB);
  h.tick();
  EXPECT_TRUE(h.answer(later).has_value());
}

TEST_F(EvictionTest, B3PollingExistsCannotHoldUpEvictionForMoreThanTwoShortLeases) {
  fill(94);
  std::optional<Ticket> waits;
  const Time began = h.now;
  bool granted = false;
  for (int i = 0; i < 40 && !granted; ++i) {
    for (int k = 0; k < 94; ++k) h.call(bob, Exists{.items = {{key(k)}}});
    if (!waits || (h.answered(*waits) && !h.answer(*waits).has_value())) {
      waits = h.start(alice, "big", 300_KiB);
    }
    h.pass(100ms);
    granted = h.answered(*waits) && h.answer(*waits).has_value();
  }
  EXPECT_TRUE(granted);
  EXPECT_LE(h.now - began, 2s);
  EXPECT_GT(skips("exists_lease"), 0u);
}

TEST_F(EvictionTest, B3ARoundThatFreesTooLittleSaysWhatItPassedOverByReason) {
  h.kept_alive = {alice, bob};
  fill(90);
  for (int k = 0; k < 30; ++k) h.get(bob, key(k));  // leased
  const Ticket waits = h.start(alice, "big", 900_KiB);
  h.pass(2s);
  ASSERT_TRUE(h.answered(waits));
  EXPECT_EQ(h.error(waits), ErrorCode::no_available_handle);
  const std::string message = h.answer(waits).error().message();
  EXPECT_NE(message.find("; eviction passed over 30 leased"), std::string::npos) << message;
  EXPECT_GE(skips("leased"), 30u);
}

TEST_F(EvictionTest, WhatIsOnAHiddenNodeIsNotEvictedForTheOthers) {
  fill(90);
  h.join({.name = "n1"});
  h.disconnect("n0");
  h.pass(1s);
  for (int i = 0; i < 200; ++i) {
    h.put(bob, "new" + std::to_string(i), piece);
    h.tick();
  }
  h.beat("n0");
  for (int i = 0; i < 90; ++i) EXPECT_TRUE(h.readable(bob, key(i))) << i;
}

class QuarantineLimitTest : public EvictionTest {
 protected:
  static MasterConfig config() {
    MasterConfig config;
    config.quarantine_bytes_min = 0_B;  // so 2 % of 1 MiB
    return config;
  }
  QuarantineLimitTest() : EvictionTest(config()) {}
};

TEST_F(QuarantineLimitTest, BeyondItNothingIsGivenOutOrEvictedThere) {
  fill(90);
  h.nodes["n0"].confirms = false;
  for (int i = 0; i < 3; ++i) h.remove(alice, key(i));
  const Ticket waits = h.start(bob, "x", 64_B);
  EXPECT_FALSE(h.answered(waits)) << "there is room, but too much of the segment is quarantined";
  h.confirm("n0");
  EXPECT_TRUE(h.answer(waits).has_value());
}

TEST_F(QuarantineLimitTest, EvictionGoesOnAsRetirementsAreConfirmed) {
  fill(94);
  h.nodes["n0"].confirms = false;
  const Ticket waits = h.start(bob, "big", 200_KiB);
  h.tick();
  EXPECT_EQ(h.status().evicted_objects, 3u);
  EXPECT_EQ(skips("quarantine"), 1u);
  for (int i = 0; i < 40 && !h.answered(waits); ++i) {
    h.confirm("n0");
    h.tick();
    EXPECT_LE(h.status().quarantined, Bytes{extent * 3});
  }
  EXPECT_TRUE(h.answer(waits).has_value());
}

TEST_F(QuarantineLimitTest, B22ASickNodeDoesNotHoldUpTheOthers) {
  fill(90);
  h.join({.name = "n1"});
  for (int i = 200; i < 290; ++i) h.put(alice, key(i), piece);
  // Everything on n0 comes first, and it does not confirm.
  h.nodes["n0"].confirms = false;
  for (int i = 0; i < 3; ++i) h.remove(alice, key(i));
  h.pass(6s);
  ASSERT_EQ(h.node_state("n0"), "sick");
  const Ticket waits = h.start(bob, "big", 300_KiB);
  h.tick();
  h.pass(500ms);
  ASSERT_TRUE(h.answered(waits));
  EXPECT_EQ(h.value<PutGrant>(waits).replicas[0].segment, h.nodes["n1"].segment);
  EXPECT_TRUE(h.readable(bob, key(80))) << "what is on the sick node stays";
}

TEST_F(QuarantineLimitTest, B22EvictionThatWaitedForANodeGoesOnWhenThatIsSick) {
  fill(90);
  h.nodes["n0"].confirms = false;
  const Ticket first = h.start(bob, "big", 300_KiB);
  h.tick();
  EXPECT_FALSE(h.answered(first));
  ASSERT_EQ(skips("quarantine"), 1u);
  h.pass(1s);
  EXPECT_EQ(h.error(first), ErrorCode::no_available_handle);
  h.join({.name = "n1"});
  for (int i = 200; i < 290; ++i) h.put(alice, key(i), piece);
  h.pass(6s);
  ASSERT_EQ(h.node_state("n0"), "sick");
  const Ticket second = h.start(bob, "big", 300_KiB);
  h.pass(500ms);
  ASSERT_TRUE(h.answered(second));
  EXPECT_TRUE(h.answer(second).has_value());
}

}  // namespace
}  // namespace larder::testing
