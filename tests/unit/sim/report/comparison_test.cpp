#include "sim/report/comparison.h"

#include <gtest/gtest.h>

#include <string>

namespace larder::sim {
namespace {

using workloads::LockstepPoint;
using workloads::LockstepRecord;

// A run of `requests`, of which every `stride`th is kept, that is off from request `wrong` on.
LockstepRecord run_of(std::uint64_t requests, std::uint64_t stride = 1,
                      std::uint64_t wrong = ~std::uint64_t{0}) {
  LockstepRecord record{
      .world = "sim", .trace = "t.jsonl", .page_bytes = 4_KiB, .nodes = 2, .policy = "lru"};
  for (std::uint64_t i = stride; i <= requests; i += stride) {
    const bool off = i >= wrong;
    record.series.push_back({.request = i,
                             .page_hits = 3 * i,
                             .pages = 10 * i,
                             .puts = 7 * i + (off ? 1 : 0),
                             .evictions = 0,
                             .decision_digest = i + (off ? 1000 : 0)});
  }
  record.totals.requests = requests;
  record.totals.decision_digest = requests + (requests >= wrong ? 1000 : 0);
  return record;
}

TEST(Comparison, EqualRunsAgreeWhateverTheirClocksSaid) {
  LockstepRecord slow = run_of(10);
  slow.world = "real";
  slow.wall_s = 30;
  for (LockstepPoint& point : slow.series) point.elapsed_s = 3;
  const Comparison comparison = Comparison::of(slow, run_of(10));
  EXPECT_TRUE(comparison.agree);
  EXPECT_FALSE(comparison.parting);
  EXPECT_NE(comparison.verdict().find("decisions of 10 requests are the same"), std::string::npos);
  EXPECT_EQ(comparison.names(), std::pair(std::string("real"), std::string("simulated")));
}

TEST(Comparison, TheFirstPointThatDiffersIsNamedWithItsCounts) {
  const Comparison comparison = Comparison::of(run_of(100, 10), run_of(100, 10, 37));
  EXPECT_FALSE(comparison.agree);
  ASSERT_TRUE(comparison.parting);
  EXPECT_EQ(comparison.parting->agreed, 30u);
  EXPECT_EQ(comparison.parting->differs, 40u);
  EXPECT_EQ(comparison.verdict(),
            "The decisions differ: digest 0000000000000064 of simulated 1, 000000000000044c of "
            "simulated 2. They agree up to request 30 and differ at request 40: puts 280 against "
            "281.");
}

TEST(Comparison, RunsOfDifferentLengthAreHeldAgainstEachOtherWhereBothHavePoints) {
  const Comparison comparison = Comparison::of(run_of(100, 10), run_of(60, 4, 44));
  EXPECT_FALSE(comparison.agree);
  ASSERT_TRUE(comparison.parting);
  EXPECT_EQ(comparison.parting->agreed, 40u);
  EXPECT_EQ(comparison.parting->differs, 60u);
  EXPECT_NE(comparison.verdict().find("100 of simulated 1, 60 of simulated 2"), std::string::npos);
}

TEST(Comparison, APrefixOfARunIsNotTheSameRun) {
  const Comparison comparison = Comparison::of(run_of(100), run_of(60));
  EXPECT_FALSE(comparison.agree);
  EXPECT_FALSE(comparison.parting);
  EXPECT_EQ(comparison.verdict(),
            "The runs do not have the same requests: 100 of simulated 1, 60 of simulated 2.");
}

TEST(Comparison, WithoutASeriesItSaysThatThePlaceIsNotKnown) {
  LockstepRecord bare = run_of(10, 1, 3);
  bare.series.clear();
  EXPECT_NE(Comparison::of(run_of(10), bare).verdict().find("not both files have a series"),
            std::string::npos);
}

TEST(Comparison, OtherSettingsAreNamedAndUnknownOnesAreNot) {
  LockstepRecord other = run_of(10, 1, 1);
  other.policy = "fifo";
  other.page_bytes = 8_KiB;
  other.nodes.reset();
  const Comparison comparison = Comparison::of(run_of(10), other);
  EXPECT_NE(
      comparison.verdict().find("What was run differs: page_bytes 4096 and 8192; policy lru and "
                                "fifo."),
      std::string::npos)
      << comparison.verdict();
}

}  // namespace
}  // namespace larder::sim
