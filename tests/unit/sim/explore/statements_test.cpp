#include <gtest/gtest.h>

#include <algorithm>

#include "sim/explore/run.h"
#include "sim/explore/scenario_text.h"

// Statements of users as scenarios that a person can read. What must hold in each is checked by the
// run itself; the tests look at what its time line says.

namespace larder::sim {
namespace {

struct Told {
  RunResult run;
  // How many lines of `who` contain `what`.
  std::size_t count(std::string_view who, std::string_view what) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        run.time_line,
        [&](const TimeLineEntry& entry) { return entry.who == who && entry.what.contains(what); }));
  }
  Duration when(std::string_view who, std::string_view what) const {
    const auto line = std::ranges::find_if(run.time_line, [&](const TimeLineEntry& entry) {
      return entry.who == who && entry.what.contains(what);
    });
    EXPECT_NE(line, run.time_line.end()) << who << " never " << what;
    return line == run.time_line.end() ? Duration(0) : line->when - Instant{};
  }
  std::string text() const { return to_text(run.time_line); }
};

Told told(const std::string& text, RunConfig::Tells tells = RunConfig::Tells::steps) {
  const auto scenario = parse_scenario(text, "statement");
  EXPECT_TRUE(scenario) << scenario.error().message();
  const ThrowingAssertions throwing;
  Told told{run_scenario(*scenario, {.tells = tells})};
  for (const Violation& violation : told.run.violations) {
    ADD_FAILURE() << to_string(violation.invariant) << ": " << violation.what;
  }
  return told;
}

class Transports : public testing::TestWithParam<bool> {
 protected:
  static std::string transport() { return GetParam() ? "one-sided\n" : ""; }
};
INSTANTIATE_TEST_SUITE_P(Statements, Transports, testing::Bool(), [](const auto& parameter) {
  return parameter.param ? "OneSided" : "Tcp";
});

// A lease of 500 ms, and bytes that stand still for a second on their way, twice, since a reader
// asks for another lease once: whole, as a batch, and in parts (the simulated application cuts its
// buffers into several slices).
TEST_P(Transports, A2AStallOfASecondUnderALeaseOfHalfASecondIsLeaseExpiredAtEveryEntry) {
  struct Entry {
    const char* get;
    const char* second_stall;  // while it reads again
    std::size_t items;
  };
  for (const Entry& entry :
       {Entry{"get a", "3.014s", 1}, Entry{"get a, b, c", "3.040s", 3},
        Entry{"get a from 64KiB room 900KiB", "3.011s", 1},
        Entry{"get a from 8B room 768KiB, b, c from 0B room 600KiB", "3.030s", 3}}) {
    const Told it = told(transport() + R"(
values up to 1MiB
nic 100MiB each second
timing lease 500ms
timing exists-lease 100ms
node0 16MiB
client0
client1
at 1s     client0 put a 1MiB, b 1MiB, c 1MiB
at 2s     client1 )" + entry.get +
                         R"(
at 2.002s block node0 to client1 for 1s
at )" + entry.second_stall +
                         R"( block node0 to client1 for 1s
at 6s     client1 get a
)");
    EXPECT_EQ(it.count("client1", "LEASE_EXPIRED"), entry.items) << entry.get << "\n" << it.text();
    EXPECT_EQ(it.count("client1", "OK"), 1u) << "afterwards it can be read\n" << it.text();
  }
}

// Gets before, during and after; the run checks each result against what was acknowledged (I3).
TEST_P(Transports, A12AfterARemovalOrUpsertIsAcknowledgedNobodyServesTheOldBytes) {
  std::string scenario = transport() + R"(
values up to 64KiB
nic 16MiB each second
node0 1MiB
node1 1MiB
client0
client1
client2
at 1s client0 put a 64KiB replicas 2, b 64KiB replicas 2
at 2s client0 upsert a 64KiB replicas 2
at 2s client0 remove b force
)";
  for (int i = 0; i < 60; ++i) {
    scenario += "at " + duration_text(std::chrono::microseconds(2'000'000 + i * 400)) + " client" +
                std::to_string(1 + i % 2) + " get a, b\n";
  }
  const Told it = told(scenario);
  EXPECT_EQ(it.count("client0", "removal of b: OK"), 1u) << it.text();
  const Duration removed = it.when("client0", "removal of b: OK");
  const Duration replaced = it.when("client0", "OK, put #3");
  for (const TimeLineEntry& entry : it.run.time_line) {
    // A get takes some 10 ms here: what ends that late began after the acknowledgement.
    const Duration at = entry.when - Instant{};
    if (at < std::max(removed, replaced) + std::chrono::milliseconds(40)) continue;
    EXPECT_FALSE(entry.what.contains("get of b: OK")) << it.text();
    EXPECT_FALSE(entry.what.contains("of put #1")) << it.text();
  }
  EXPECT_GT(it.count("client1", "get of a: OK") + it.count("client2", "get of a: OK"), 10u);
}

// The second master is started beside the first and has a higher epoch; the node meets it, goes
// back, and shows the first one its epoch.
TEST_P(Transports, B20OfTwoMastersOneEndsWithinAHeartbeatAndNothingIsLost) {
  for (const char* state : {"", "shared-state\n"}) {
    const Told it = told(transport() + state + R"(
values up to 4KiB
master1 clock +10s
node0 1MiB
client0
client1
at 1s    client0 put a 4KiB, b 4KiB
at 5s    start master1 for 60s
at 6s    turn node0 to master1 for 2s
at 8.2s  client1 get a
at 9s    turn client0 to master1 for 50s
at 9s    turn client1 to master1 for 50s
at 9s    turn node0 to master1 for 50s
at 30s   client1 get a, b
)");
    EXPECT_GE(it.count("master0", "ends: a newer master leads"), 1u) << it.text();
    EXPECT_LE(it.when("master0", "ends: a newer master leads"), std::chrono::seconds(8 + 2));
    EXPECT_EQ(it.count("client1", "get of b: OK"), 1u) << it.text();
    EXPECT_GE(it.count("client1", "get of a: OK"), 1u) << it.text();
  }
}

TEST_P(Transports, B21ANodeThatWasCutOffFor15SecondsComesBackWithAllButWhatWasRemoved) {
  const Told it = told(transport() + R"(
values up to 4KiB
node0 1MiB
client0
client1
at 1s    client0 put kept 4KiB, gone 4KiB
at 2s    cut node0 for 15s
at 10s   client1 get kept
at 11s   client0 remove gone force within 1s
at 25s   client1 get kept, gone
)");
  EXPECT_GE(it.count("master0", "node0 is hidden"), 1u) << it.text();
  EXPECT_EQ(it.count("client1", "get of kept: OBJECT_NOT_FOUND"), 1u) << it.text();
  EXPECT_EQ(it.count("client1", "get of kept: OK"), 1u) << it.text();
  EXPECT_EQ(it.count("client1", "get of gone: OBJECT_NOT_FOUND"), 1u) << it.text();
  EXPECT_EQ(it.count("client1", "get of gone: OK"), 0u) << it.text();
}

// A client that met the second master says so with its next call, a minute after that one has
// ended. (Seed 10881438173481382676, shrunk: the run took the older master's end for a broken
// promise.)
TEST(Statements, B20ALateWordOfANewerMasterEndsTheOlderOneAndThePoolGoesOn) {
  const Told story = told(R"(
seed 10881438173481382778
shared-state
values up to 512B
master1
node0 5632B
node1 10752B
client0
client1
client2
at 250us client2 put key2 64B replicas 2, key4 64B replicas 2, key0 64B, key1 64B replicas 2, key4 64B replicas 2
at 26.25ms move node1 for 27.169616s
at 1.00325s client2 get key6 from 46B room 30B, key0 from 117B room 64B
at 1.00325s client2 exists key5
at 1.00325s start master1 for 28.796961s
at 1.00325s client2 remove key1
at 1.00325s freeze client2 for 498.289ms
at 1.00325s client2 remove key7
at 20.47425s turn client2 to master1 for 25.559125ms
)",
                          RunConfig::Tells::all);
  EXPECT_GE(story.count("master0", "ends: a newer master leads"), 1u) << story.text();
}

}  // namespace
}  // namespace larder::sim
