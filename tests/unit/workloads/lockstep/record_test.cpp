#include "workloads/lockstep/record.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/files/temporary.h"

namespace larder::workloads {
namespace {

LockstepTotals after(std::uint64_t requests) {
  return {.requests = requests,
          .pages = 10 * requests,
          .page_hits = 4 * requests,
          .puts = 6 * requests,
          .evictions = 5 * requests,
          .decision_digest = 0xabcd'0000'0000'0000u + requests};
}

LockstepSeries series_of(std::uint64_t requests) {
  LockstepSeries series;
  for (std::uint64_t i = 1; i <= requests; ++i) series.add(after(i), std::chrono::milliseconds(i));
  return series;
}

LockstepRecord a_record() {
  LockstepRecord record{.world = std::string(simulated_world),
                        .trace = "sessions.jsonl",
                        .page_bytes = 32_KiB,
                        .nodes = 2,
                        .memory = 64_MiB,
                        .policy = "lru",
                        .seed = 7,
                        .totals = after(3),
                        .state_hash = 0xffff'ffff'ffff'fff0u,
                        .virtual_s = 0.25,
                        .wall_s = 1.5,
                        .series = series_of(3).points()};
  record.totals.tokens = 30'000;
  record.totals.tokens_hit = 12'000;
  record.totals.bytes_read = 1_MiB;
  record.totals.bytes_written = 2_MiB;
  return record;
}

TEST(LockstepSeries, KeepsAllOfAShortRunAndEvenlySpreadRequestsOfALongOne) {
  EXPECT_TRUE(LockstepSeries().points().empty());
  EXPECT_EQ(series_of(499).points().size(), 499u);
  for (const std::uint64_t requests : {500u, 501u, 12'031u, 64'000u}) {
    const std::vector<LockstepPoint> points = series_of(requests).points();
    EXPECT_LE(points.size(), LockstepSeries::points_max);
    EXPECT_GE(points.size(), LockstepSeries::points_max / 2);
    EXPECT_EQ(points.back().request, requests);
    const std::uint64_t stride = points.front().request;
    for (std::size_t i = 0; i + 1 < points.size(); ++i) {
      EXPECT_EQ(points[i].request, (i + 1) * stride);
      EXPECT_EQ(points[i].puts, 6 * points[i].request);
    }
  }
}

TEST(LockstepRecord, WhatIsWrittenIsRead) {
  const TemporaryDirectory directory;
  const LockstepRecord written = a_record();
  ASSERT_TRUE(write_record(directory.path() / "a" / "b", written));
  const auto read = read_record(directory.path() / "a" / "b" / "sim.json");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(to_json(*read), to_json(written));
  EXPECT_EQ(read->state_hash, 0xffff'ffff'ffff'fff0u);
  EXPECT_EQ(read->series.size(), 3u);
  EXPECT_TRUE(read->series.back().agrees_with(written.series.back()));
}

TEST(LockstepRecord, WhatIsNotKnownIsAbsent) {
  const LockstepRecord record{.world = std::string(real_world), .page_bytes = 1_B};
  const std::string text = to_json(record);
  for (const char* name :
       {"nodes", "memory_bytes", "policy", "seed", "state_hash", "virtual_s", "series"}) {
    EXPECT_EQ(text.find(std::string("\"") + name + '"'), std::string::npos) << text;
  }
  const TemporaryDirectory directory;
  const auto read = read_record(directory.file("real.json", text));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_FALSE(read->nodes || read->policy || read->state_hash || read->virtual_s);
}

TEST(LockstepRecord, ABrokenFileIsRefusedWithThePlaceAndTheReason) {
  const TemporaryDirectory directory;
  const std::string good = to_json(a_record());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "line 1, column 1"},
      {good.substr(0, good.size() / 2), "syntax error"},
      {"[]", "must be a JSON object"},
      {with("\"puts\": 18", "\"pots\": 18"), "'puts' is missing"},
      {with("\"puts\": 18", "\"puts\": -18"), "'puts' is '-18', must be a whole number from 0 on"},
      {with("\"puts\": 18", "\"puts\": 1.5"), "'puts' is '1.5'"},
      {with("\"puts\": 18", "\"puts\": 99999999999999999999"), "'puts' is"},
      {with("\"wall_s\": 1.5", "\"wall_s\": \"1\""), "'wall_s' is '\"1\"', must be a number"},
      {with("\"wall_s\": 1.5", "\"wall_s\": 1e400"), "number overflow"},
      {with("\"page_hits\": 12", "\"page_hits\": 31"), "'page_hits' is '31', must be at most"},
      {with("fffffffffffffff0", "fffffffffffffff"), "must be 16 hexadecimal digits"},
      {with("\"world\": \"sim\"", "\"world\": \"dream\""), "must be \"real\" or \"sim\""},
      {with("\"request\": 2", "\"request\": 1"), "series[1]: request 1 is not between 2 and 3"},
      {with("\"request\": 3", "\"request\": 4"), "series[2]: request 4 is not between 3 and 3"},
  };
  for (const auto& [text, reason] : cases) {
    const auto path = directory.file("sim.json", text);
    const auto read = read_record(path);
    ASSERT_FALSE(read) << reason;
    EXPECT_EQ(read.error().code(), ErrorCode::bad_file);
    EXPECT_NE(read.error().message().find(path.string()), std::string::npos);
    EXPECT_NE(read.error().message().find(reason), std::string::npos) << read.error().message();
  }
  EXPECT_FALSE(read_record(directory.path()));
  EXPECT_EQ(read_record(directory.path() / "none.json").error().code(), ErrorCode::file_not_found);
}

TEST(LockstepRecord, ADirectoryThatCannotBeMadeIsNamed) {
  const TemporaryDirectory directory;
  const auto file = directory.file("file", "x");
  const Status written = write_record(file / "below", a_record());
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().message().find((file / "below").string()), std::string::npos);
}

}  // namespace
}  // namespace larder::workloads
