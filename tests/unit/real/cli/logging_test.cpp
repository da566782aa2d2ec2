#include "real/cli/logging.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "real/rpc/log.h"

namespace larder::real {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

// The process's log, into a text.
class Log : public testing::Test {
 protected:
  void start(LogOptions options) {
    logger_ = make_logger(options, std::make_shared<spdlog::sinks::ostream_sink_mt>(out_));
    spdlog::set_default_logger(logger_);
  }
  // Nothing that writes to out_ outlives it.
  ~Log() override {
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("after"));
    logger_.reset();
  }
  // A line of a kind of its own, at a time that the test says.
  void line_at(std::chrono::seconds time, const std::string& text) {
    logger_->log(spdlog::log_clock::time_point(time), {}, spdlog::level::warn, text);
  }
  std::vector<std::string> lines() const {
    std::vector<std::string> all;
    std::istringstream stream(out_.str());
    std::string line;
    while (std::getline(stream, line)) all.push_back(line);
    return all;
  }

  std::ostringstream out_;
  std::shared_ptr<spdlog::logger> logger_;
};

TEST_F(Log, AsJsonIsOneObjectALineWithTheFieldsOfTheEvent) {
  start({.level = "info", .format = "json"});
  log(LogLevel::warn, "rpc", "closed a connection",
      {{"peer", "[::1]:7"}, {"why", "a \"b\"\n\xff"}});
  ASSERT_EQ(lines().size(), 1u);
  const json line = json::parse(lines()[0]);
  EXPECT_EQ(line.at("level"), "warning");
  EXPECT_EQ(line.at("component"), "rpc");
  EXPECT_EQ(line.at("event"), "closed a connection");
  EXPECT_EQ(line.at("peer"), "[::1]:7");
  EXPECT_EQ(line.at("why"), "a \"b\"\n\xEF\xBF\xBD");
  const std::string time = line.at("time");
  EXPECT_EQ(time.size(), std::string("2026-01-01T00:00:00.000Z").size());
  EXPECT_EQ(time.back(), 'Z');
}

TEST_F(Log, AsTextIsOneLineWhateverAPeerSends) {
  start({});
  log(LogLevel::info, "node", "connected", {{"endpoint", "a\n2026-01-01 error: forged\x1b[2J"}});
  ASSERT_EQ(lines().size(), 1u);
  EXPECT_NE(
      lines()[0].find("info node: connected (endpoint a\\x0a2026-01-01 error: forged\\x1b[2J)"),
      std::string::npos)
      << lines()[0];
}

TEST_F(Log, WhatIsBelowTheLevelIsNotWritten) {
  start({.level = "warn"});
  log(LogLevel::info, "node", "connected");
  EXPECT_TRUE(lines().empty());
  log(LogLevel::error, "node", "failed");
  EXPECT_EQ(lines().size(), 1u);
}

TEST_F(Log, ManyLinesOfOneKindAreLeftOutAndCounted) {
  start({.level = "info", .format = "json"});
  for (int i = 0; i < 1000; ++i) {
    log(LogLevel::warn, "rpc", "closed a connection", {{"peer", std::to_string(i)}});
  }
  log(LogLevel::warn, "rpc", "another kind");
  EXPECT_EQ(lines().size(), log_burst + 1);
  // When the log ends, what was left out is said.
  spdlog::set_default_logger(logger_->clone("other"));
  const std::size_t left_out = 1000 - log_burst;
  logger_.reset();
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("none"));
  ASSERT_EQ(lines().size(), log_burst + 2);
  EXPECT_NE(lines().back().find("rpc: " + std::to_string(left_out) +
                                " like it were left out: closed a connection"),
            std::string::npos)
      << lines().back();
}

using StatementD7 = Log;
TEST_F(StatementD7, ALogThatIsToldOfAThousandFailuresASecondWritesAtMostAHundredLinesAMinute) {
  start({});
  for (int ms = 0; ms < 60'000; ++ms) line_at(1000s + ms / 1000 * 1s, "the peer is dead");
  EXPECT_GE(lines().size(), 1u);
  EXPECT_LE(lines().size(), 100u);
}

TEST_F(Log, AWindowEndsWithTheCountAndLetsLinesThroughAgain) {
  start({});
  for (int i = 0; i < 100; ++i) line_at(1000s, "again");
  EXPECT_EQ(lines().size(), log_burst);
  line_at(1009s, "again");
  EXPECT_EQ(lines().size(), log_burst);
  line_at(1010s, "of another kind");
  ASSERT_EQ(lines().size(), log_burst + 2);
  EXPECT_NE(
      lines()[log_burst].find(std::to_string(101 - log_burst) + " like it were left out: again"),
      std::string::npos);
  line_at(1011s, "again");
  EXPECT_EQ(lines().size(), log_burst + 3);
}

TEST_F(Log, AClockThatIsSetBackSilencesNothing) {
  start({});
  for (int i = 0; i < 100; ++i) line_at(100'000s, "again");
  line_at(1000s, "again");
  EXPECT_EQ(lines().size(), log_burst + 2);
}

}  // namespace
}  // namespace larder::real
