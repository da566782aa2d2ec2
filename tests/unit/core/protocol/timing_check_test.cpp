#include <gtest/gtest.h>

#include "core/protocol/timing_check.h"

namespace larder {
namespace {

using namespace std::chrono_literals;

Timing with(Duration Timing::* time, Duration value) {
  Timing timing;
  timing.*time = value;
  return timing;
}

TEST(Timing, TheDefaultsAgreeWithEachOther) { EXPECT_TRUE(check(Timing{})); }

TEST(Timing, WhatContradictsAnotherIsRefusedWithBothNamesAndValues) {
  const struct {
    Timing timing;
    const char* one;
    const char* other;
  } bad[] = {
      {with(&Timing::heartbeat, 3s), "heartbeat (3s)", "hidden-after-silence (5s)"},
      {with(&Timing::stale_heartbeat, 1500ms), "heartbeat (1s)", "stale-heartbeat (1500ms)"},
      {with(&Timing::session_lost, 1s), "heartbeat (1s)", "session-lost (1s)"},
      {with(&Timing::hidden_after_silence, 31s), "hidden-after-silence (31s)", "node-lost (30s)"},
      {with(&Timing::hidden_after_disconnect, 31s), "hidden-after-disconnect (31s)",
       "node-lost (30s)"},
      {with(&Timing::retirement_retry, 6s), "retirement-retry (6s)", "retirement-sick (5s)"},
      {with(&Timing::retirement_sick, 31s), "retirement-sick (31s)", "retirement-lost (30s)"},
      {with(&Timing::exists_lease, 11s), "exists-lease (11s)", "lease (10s)"},
      {with(&Timing::lease, 0s), "lease", "more than 0"},
  };
  for (const auto& [timing, one, other] : bad) {
    const Status checked = check(timing);
    ASSERT_FALSE(checked) << one;
    EXPECT_EQ(checked.error().code(), ErrorCode::invalid_params);
    EXPECT_NE(checked.error().message().find(one), std::string::npos);
    EXPECT_NE(checked.error().message().find(other), std::string::npos);
  }
}

}  // namespace
}  // namespace larder
