#include "core/base/duration_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace larder {
namespace {

using namespace std::chrono_literals;

TEST(DurationText, TakesWhatPeopleWrite) {
  const std::pair<const char*, Duration> durations[] = {
      {"0", 0s},       {"10", 10s},      {"10s", 10s},     {"10 s", 10s}, {"1.5", 1500ms},
      {"0.5s", 500ms}, {"500ms", 500ms}, {"2min", 2min},   {"1h", 1h},    {"3d", 72h},
      {"7us", 7us},    {"9ns", 9ns},     {"0.25ms", 250us}};
  for (const auto& [text, duration] : durations) {
    const Result<Duration> parsed = parse_duration(text);
    ASSERT_TRUE(parsed) << text << ": " << parsed.error().message();
    EXPECT_EQ(*parsed, duration) << text;
  }
}

TEST(DurationText, RefusesEverythingElseAndNamesIt) {
  for (const char* text : {"",       " ",
                           "s",      "-1",
                           "+1",     "1e3",
                           "soon",   "1 m",
                           "1m",     "1S",
                           "1  s",   "1 ",
                           " 1",     "'1s'",
                           "1.",     ".5",
                           "1.2.3",  "0x10",
                           "1s ",    "nan",
                           "inf",    "99999999999999999999",
                           "40000d", "1.5e9d"}) {
    const Result<Duration> parsed = parse_duration(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code(), ErrorCode::invalid_params);
    EXPECT_NE(parsed.error().message().find("'" + std::string(text) + "'"), std::string::npos);
  }
}

RC_GTEST_PROP(DurationText, ReadsBackWhatItWrites, ()) {
  const Duration duration(*rc::gen::inRange<std::int64_t>(0, 3'155'760'000'000'000'000));
  RC_ASSERT(parse_duration(duration_text(duration)).value() == duration);
}

}  // namespace
}  // namespace larder
