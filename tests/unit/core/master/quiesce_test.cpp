#include "tests/unit/core/master/harness.h"

namespace larder::testing {
namespace {

using namespace std::chrono_literals;

class QuiesceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    h.join();
    h.open(alice);
    h.kept_alive = {alice};
  }
  MasterHarness h;
};

TEST_F(QuiesceTest, WhereNothingIsDueItIsAnsweredAtOnce) {
  EXPECT_EQ(h.quiesce().evicted_objects, 0u);
}

TEST_F(QuiesceTest, ItDoesAllDueEvictionAndWaitsForEveryRetirement) {
  for (int i = 0; i < 96; ++i) h.put(alice, "k" + std::to_string(i), 10_KiB);
  h.nodes["n0"].confirms = false;
  h.put(alice, "last", 20_KiB);
  const Ticket quiet = h.call(alice, Quiesce{});
  EXPECT_GT(h.status().evicted_objects, 0u) << "no tick was needed";
  EXPECT_FALSE(h.answered(quiet));
  h.confirm("n0");
  const auto report = h.value<QuiesceReport>(quiet);
  EXPECT_EQ(report.evicted_objects, h.status().evicted_objects);
  EXPECT_EQ(report.evicted_bytes, h.status().evicted_bytes);
  EXPECT_EQ(h.status().quarantined, 0_B);
}

TEST_F(QuiesceTest, ItDoesNotWaitForANodeThatIsLost) {
  h.nodes["n0"].confirms = false;
  h.nodes["n0"].beating = false;
  h.put(alice, "k");
  h.remove(alice, "k");
  const Ticket quiet = h.call(alice, Quiesce{});
  h.pass(29s);
  EXPECT_FALSE(h.answered(quiet));
  h.pass(2s);
  EXPECT_TRUE(h.answer(quiet).has_value());
  EXPECT_TRUE(h.status().nodes.empty()) << "the sweep was due work too";
}

TEST_F(QuiesceTest, TheDigestNamesTheVictimsInTheirOrder) {
  const auto run = [](int first_read) {
    MasterHarness other;
    other.join();
    other.open(alice);
    for (int i = 0; i < 96; ++i) other.put(alice, "k" + std::to_string(i), 10_KiB);
    other.read_and_return(alice, "k" + std::to_string(first_read));
    other.put(alice, "last", 20_KiB);
    return other.quiesce().eviction_digest;
  };
  EXPECT_EQ(run(90), run(90));
  EXPECT_NE(run(0), run(90));
}

TEST_F(QuiesceTest, TheSameCallsGiveTheSameStateToTheBit) {
  const auto run = [] {
    MasterHarness other;
    for (int n = 0; n < 4; ++n) other.join({.name = "n" + std::to_string(n)});
    other.open(alice);
    other.kept_alive = {alice};
    for (unsigned i = 0; i < 60; ++i) {
      other.start(alice, "k" + std::to_string(i), 30_KiB, false, 1 + i % 3);
      if (i % 5 == 0) other.pass(300ms);
      if (i % 7 == 0) other.remove(alice, "k" + std::to_string(i / 2), true);
    }
    return other.master().digest(other.now);
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace larder::testing
