#include "workloads/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/files/temporary.h"
#include "tests/support/traces.h"
#include "workloads/trace.h"

namespace larder::workloads {
namespace {

using namespace std::chrono_literals;

Result<TraceStatistics> statistics_of(const std::filesystem::path& path) {
  const std::vector<std::filesystem::path> paths{path};
  LARDER_TRY(const auto reader, open_trace(paths));
  return trace_statistics(*reader);
}

std::string line(int time, int input, const std::string& ids) {
  return "{\"timestamp\": " + std::to_string(time) +
         ", \"input_length\": " + std::to_string(input) +
         ", \"output_length\": 10, \"hash_ids\": [" + ids + "]}\n";
}

TEST(Statistics, OfASmallTraceAreTheOnesCountedByHand) {
  const TemporaryDirectory directory;
  const auto sum = statistics_of(directory.file(
      "t.jsonl",
      line(1000, 1100, "1, 2, 3") + line(1000, 1100, "1, 2, 4") + line(3000, 600, "5, 1")));
  ASSERT_TRUE(sum) << sum.error().message();
  EXPECT_EQ(sum->requests, 3u);
  EXPECT_EQ(sum->sessions, 0u);
  EXPECT_EQ(sum->first_arrival, 1s);
  EXPECT_EQ(sum->last_arrival, 3s);
  EXPECT_EQ(sum->distinct_timestamps, 2u);
  EXPECT_EQ(sum->input_tokens, 2800u);
  EXPECT_EQ(sum->output_tokens, 30u);
  EXPECT_EQ(sum->block_accesses, 8u);
  EXPECT_EQ(sum->unique_blocks, 5u);
  EXPECT_EQ(sum->block_hits, 3u);          // 1 and 2, and 1 behind 5
  EXPECT_EQ(sum->leading_block_hits, 2u);  // ... which does not help
  EXPECT_EQ(sum->leading_token_hits, 1024u);
  EXPECT_EQ(sum->trie_violations, 1u);
  EXPECT_EQ(sum->reuse, (std::vector<ReuseBucket>{{1, 1, 3}, {2, 2, 1}, {3, 4, 1}}));
  EXPECT_EQ(sum->input_lengths, (LengthSummary{.p50 = 1100, .p90 = 1100, .max = 1100}));
  EXPECT_EQ(sum->blocks_per_request, (LengthSummary{.p50 = 3, .p90 = 3, .max = 3}));
}

TEST(Statistics, AWholeHitCountsThePartialLastBlockByItsTokens) {
  const TemporaryDirectory directory;
  const auto sum =
      statistics_of(directory.file("t.jsonl", line(0, 600, "1, 2") + line(0, 600, "1, 2")));
  ASSERT_TRUE(sum) << sum.error().message();
  EXPECT_EQ(sum->leading_token_hits, 600u);
}

TEST(Statistics, ABlockTwiceInOneRequestIsAViolation) {
  const TemporaryDirectory directory;
  const auto sum = statistics_of(directory.file("t.jsonl", line(0, 1024, "7, 7")));
  ASSERT_TRUE(sum) << sum.error().message();
  EXPECT_EQ(sum->trie_violations, 1u);
}

TEST(Statistics, NoDataIsNeitherARatioNorALength) {
  EXPECT_FALSE(ratio(0, 0));
  EXPECT_EQ(ratio(1, 4), 0.25);
  const TemporaryDirectory directory;
  const auto sum = statistics_of(directory.file("t.jsonl", line(0, 0, "")));
  ASSERT_TRUE(sum) << sum.error().message();
  EXPECT_FALSE(ratio(sum->block_hits, sum->block_accesses));
  EXPECT_EQ(sum->input_lengths, LengthSummary{});
}

TEST(Statistics, ABadLineIsTheirError) {
  const TemporaryDirectory directory;
  const auto path = directory.file("t.jsonl", line(0, 1, "1") + "{}\n");
  EXPECT_EQ(statistics_of(path).error().facts().detail,
            path.string() + ": line 2: the field 'timestamp' is missing");
}

TEST(Statistics, OfTheConversationTraceAreTheIndependentlyComputedOnes) {
  LARDER_NEEDS_PUBLISHED_TRACES();
  const auto sum = statistics_of(published_traces() / "conversation_trace.jsonl");
  ASSERT_TRUE(sum) << sum.error().message();
  EXPECT_EQ(sum->requests, 12'031u);
  EXPECT_EQ(sum->block_accesses, 288'500u);
  EXPECT_EQ(sum->unique_blocks, 182'790u);
  EXPECT_EQ(sum->block_hits, 105'710u);
  EXPECT_EQ(sum->leading_block_hits, 105'710u);
  const auto six_digits = [](std::optional<double> value) {
    return static_cast<int>(std::round(*value * 1e6));
  };
  EXPECT_EQ(six_digits(ratio(sum->block_hits, sum->block_accesses)), 366'412);
  EXPECT_EQ(six_digits(ratio(sum->leading_token_hits, sum->input_tokens)), 373'624);
  EXPECT_EQ(sum->distinct_timestamps, 1'180u);
  EXPECT_EQ(sum->trie_violations, 0u);
  ASSERT_FALSE(sum->reuse.empty());
  EXPECT_EQ(six_digits(ratio(sum->reuse.front().blocks, sum->unique_blocks)) / 100, 7'584);
  EXPECT_EQ(sum->input_lengths, (LengthSummary{.p50 = 6'909, .p90 = 27'367, .max = 126'195}));
  EXPECT_EQ(std::chrono::floor<std::chrono::seconds>(sum->last_arrival), 3536s);
}

TEST(Statistics, OfTheAgenticSessions) {
  LARDER_NEEDS_PUBLISHED_TRACES();
  const auto sum = statistics_of(published_traces() / "agentic");
  ASSERT_TRUE(sum) << sum.error().message();
  EXPECT_EQ(sum->requests, 813u);
  EXPECT_EQ(sum->sessions, 14u);
  EXPECT_EQ(sum->agents, 18u);  // one session started four
  EXPECT_EQ(sum->block_accesses, 1'175'296u);
  EXPECT_EQ(sum->unique_blocks, 47'702u);
  EXPECT_EQ(sum->block_hits, 1'127'594u);
  EXPECT_EQ(sum->leading_block_hits, sum->block_hits);
  EXPECT_EQ(sum->trie_violations, 0u);
  EXPECT_EQ(sum->input_tokens, 75'243'977u);
}

}  // namespace
}  // namespace larder::workloads
