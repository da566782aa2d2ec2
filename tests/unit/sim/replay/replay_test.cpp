#include "sim/replay/replay.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sim/report/table.h"
#include "tests/support/temporary.h"
#include "workloads/statistics.h"

namespace larder::sim {
namespace {

using namespace workloads;

std::unique_ptr<TraceReader> sample() {
  const std::vector<std::filesystem::path> paths{"workloads/samples/sessions.jsonl"};
  auto trace = open_trace(paths);
  EXPECT_TRUE(trace) << trace.error().message();
  return std::move(*trace);
}

LockstepRecord replayed(const ReplayConfig& config) {
  auto record = replay(*sample(), config, {});
  if (!record) {
    ADD_FAILURE() << record.error().message();
    return {};
  }
  return *record;
}

// A page and its footer in an extent: 4,096 + 64 bytes.
const ReplayConfig small{.memory = 1_MiB, .page_bytes = 4_KiB};

TEST(Replay, TheSampleGivesTheNumbersThatItAlwaysGave) {
  const LockstepRecord record = replayed(small);
  EXPECT_EQ(record.totals.requests, 400u);
  EXPECT_EQ(record.totals.pages, 6'034u);
  EXPECT_EQ(record.totals.page_hits, 3'536u);  // of 4,079 in a pool without limits
  EXPECT_EQ(record.totals.tokens_hit, 1'810'432u);
  EXPECT_EQ(record.totals.puts, 2'498u);
  EXPECT_EQ(record.totals.evictions, 2'045u);
  EXPECT_EQ(record.totals.decision_digest, 0xf63cc62102fe2e48u);
}

TEST(Replay, E8TheSameArgumentsGiveTheSameWorld) {
  const LockstepRecord one = replayed(small);
  LockstepRecord two = replayed(small);
  EXPECT_EQ(to_json(one), to_json(two));
}

TEST(Replay, WithoutBytesTheDecisionsAreTheSame) {
  ReplayConfig config = small;
  const LockstepRecord with = replayed(config);
  config.verify = false;
  const LockstepRecord without = replayed(config);
  EXPECT_EQ(without.totals.decision_digest, with.totals.decision_digest);
  EXPECT_EQ(without.totals.page_hits, with.totals.page_hits);
  EXPECT_FALSE(without.verified);
}

TEST(Replay, ThePolicyDecidesAndTheSeedOfPlacementDoesNotInAPoolOfOneNode) {
  ReplayConfig config = small;
  config.nodes = 1;
  const LockstepRecord usual = replayed(config);
  config.seed = 2;
  EXPECT_EQ(replayed(config).totals.decision_digest, usual.totals.decision_digest);
  config.policy = "fifo";
  EXPECT_NE(replayed(config).totals.decision_digest, usual.totals.decision_digest);
}

TEST(Replay, APoolThatHoldsAllHasTheHitsOfAnInfiniteOne) {
  const auto statistics = trace_statistics(*sample());
  ASSERT_TRUE(statistics);
  const LockstepRecord record = replayed({.nodes = 3, .memory = 64_MiB, .page_bytes = 4_KiB});
  EXPECT_EQ(record.totals.page_hits, statistics->leading_block_hits);
  EXPECT_EQ(record.totals.tokens_hit, statistics->leading_token_hits);
  EXPECT_EQ(record.totals.pages, statistics->block_accesses);
  EXPECT_EQ(record.totals.tokens, statistics->input_tokens);
  EXPECT_EQ(record.totals.puts, statistics->unique_blocks);
  EXPECT_EQ(record.totals.evictions, 0u);
}

TEST(Replay, TheSeriesEndsWithTheTotals) {
  ReplayConfig config = small;
  config.requests_max = 37;
  std::uint64_t calls = 0;
  const auto record = replay(*sample(), config, [&](const LockstepTotals& totals) {
    EXPECT_EQ(totals.requests, ++calls);
    return true;
  });
  ASSERT_TRUE(record);
  EXPECT_EQ(calls, 37u);
  ASSERT_EQ(record->series.size(), 37u);
  EXPECT_EQ(record->series.back().page_hits, record->totals.page_hits);
  EXPECT_EQ(record->series.back().puts, record->totals.puts);
  EXPECT_EQ(record->series.back().decision_digest, record->totals.decision_digest);
}

TEST(Replay, E9AWarmUpFillsThePoolAndIsNotCounted) {
  ReplayConfig config = small;
  const LockstepTotals all = replayed(config).totals;
  config.requests_max = 150;
  const LockstepTotals first = replayed(config).totals;
  config = small;
  config.warmup_requests = 150;
  const LockstepRecord record = replayed(config);
  const LockstepTotals& rest = record.totals;
  EXPECT_EQ(rest.warmup_requests, 150u);
  EXPECT_EQ(rest.requests, all.requests - 150);
  EXPECT_EQ(rest.pages, all.pages - first.pages);
  EXPECT_EQ(rest.page_hits, all.page_hits - first.page_hits);
  EXPECT_EQ(rest.tokens_hit, all.tokens_hit - first.tokens_hit);
  EXPECT_EQ(rest.puts, all.puts - first.puts);
  EXPECT_EQ(rest.evictions, all.evictions - first.evictions);
  EXPECT_EQ(rest.bytes_read, all.bytes_read - first.bytes_read);
  EXPECT_EQ(rest.decision_digest, all.decision_digest) << "it decides the same";
  EXPECT_EQ(record.series.front().request, 1u);
  config.warmup_requests = 400;
  EXPECT_EQ(replay(*sample(), config, {}).error().code(), ErrorCode::invalid_params);
}

TEST(Replay, E5EveryRequestOfTheTraceIsServedAndEveryPageIsAHitOrAMiss) {
  for (const std::string& policy : {"lru", "fifo", "leaf-first"}) {
    ReplayConfig config = small;
    config.policy = policy;
    const LockstepTotals totals = replayed(config).totals;
    EXPECT_EQ(totals.requests, 400u);
    EXPECT_EQ(totals.pages, 6'034u);
    // A page behind the first miss may still be there: then it is neither a hit nor put.
    EXPECT_LE(totals.page_hits + totals.puts, totals.pages);
    EXPECT_EQ(totals.bytes_written, config.page_bytes * totals.puts);
  }
}

TEST(Replay, E9ALoadThatThePoolCannotServeIsSaid) {
  const TemporaryDirectory directory;
  std::string burst;  // a hundred requests of a thousand pages within a millisecond
  for (int i = 0; i < 100; ++i) {
    burst += R"({"timestamp": )" + std::to_string(i / 50) +
             R"(, "input_length": 512000, "output_length": 1, "hash_ids": [)";
    for (int block = 0; block < 1000; ++block) {
      burst += (block == 0 ? "" : ", ") + std::to_string(1000 * i + block);
    }
    burst += "]}\n";
  }
  const std::vector<std::filesystem::path> paths{directory.file("burst.jsonl", burst)};
  const auto trace = open_trace(paths);
  ASSERT_TRUE(trace);
  const auto record = replay(**trace, {.verify = false}, {});
  ASSERT_TRUE(record) << record.error().message();
  EXPECT_EQ(record->totals.trace_time, std::chrono::milliseconds(1));
  EXPECT_GT(record->virtual_s, 0.001);
  const std::array records{*record};
  EXPECT_NE(to_text(result_rows(records)).find("more than one client in lock step can serve"),
            std::string::npos);
}

TEST(Replay, ProgressCanEndIt) {
  const auto record =
      replay(*sample(), small, [](const LockstepTotals& totals) { return totals.requests < 5; });
  ASSERT_TRUE(record);
  EXPECT_EQ(record->totals.requests, 5u);
}

TEST(Replay, ABrokenTraceIsAnErrorWithItsLine) {
  const TemporaryDirectory directory;
  const std::vector<std::filesystem::path> paths{directory.file(
      "t.jsonl",
      "{\"timestamp\": 0, \"input_length\": 512, \"output_length\": 7, \"hash_ids\": [1]}\n"
      "{\"timestamp\": 0, \"input_length\": 512}\n")};
  const auto trace = open_trace(paths);
  ASSERT_TRUE(trace);
  const auto record = replay(**trace, small, {});
  ASSERT_FALSE(record);
  EXPECT_NE(record.error().message().find("line 2"), std::string::npos) << record.error().message();
}

TEST(Replay, WhatMakesNoSenseIsRefusedByName) {
  const std::vector<std::pair<ReplayConfig, std::string>> cases{
      {{.nodes = 0}, "--nodes: 0"},
      {{.nodes = 1001}, "--nodes: 1001"},
      {{.page_bytes = 0_B}, "--page-bytes: 0"},
      {{.memory = 0_B}, "--memory"},
      {{.memory = 32_KiB}, "does not fit into a node of 32768"},
      {{.memory = {~std::uint64_t{0}}}, "--memory"},
      {{.memory = 64_GiB}, "--verify off"},
      {{.policy = "random"}, "--policy: "},
  };
  for (const auto& [config, reason] : cases) {
    const auto record = replay(*sample(), config, {});
    ASSERT_FALSE(record) << reason;
    EXPECT_EQ(record.error().code(), ErrorCode::invalid_params);
    EXPECT_NE(record.error().message().find(reason), std::string::npos) << record.error().message();
  }
}

}  // namespace
}  // namespace larder::sim
