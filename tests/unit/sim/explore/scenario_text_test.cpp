#include "sim/explore/scenario_text.h"

#include <gtest/gtest.h>

#include "sim/explore/draw.h"

namespace larder::sim {
namespace {

using namespace std::chrono_literals;

TEST(ScenarioText, EveryDrawnScenarioIsReadBackAsItWas) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const std::string text = scenario_text(draw_scenario(seed, 200));
    const auto again = parse_scenario(text, "it");
    ASSERT_TRUE(again) << again.error().message();
    ASSERT_EQ(scenario_text(*again), text);
    EXPECT_EQ(again->steps, draw_scenario(seed, 200).steps);
  }
}

TEST(ScenarioText, APersonWritesIt) {
  const auto scenario = parse_scenario(R"(# two clients, one of them beside a node
seed 9
policy fifo
one-sided
no-checksum
epochs-of-clock
shared-state
values up to 1KiB
chunk 64B
transfers up to 128B
nic 1MiB each second
timing lease 500ms
master1 clock +3s
node0 64KiB clock +2.5s -2500ppm
node1 32KiB
client0 on node1
client1 clock +1h5
)",
                                       "it");
  ASSERT_FALSE(scenario);
  EXPECT_EQ(scenario.error().facts().detail,
            "it:17: '1h5' is no time: a number and s, ms, us or ns, such as 12.5ms");

  const auto good = parse_scenario(R"(values up to 1KiB
master1
node0 64KiB clock +2.5s -2500ppm
client0 on node0
client1
links lose 0.25 delay 2ms   # of all links
at 12.5ms client1 put key3 100B replicas 2 group g parent key1 soft-pin 3s ttl 4s hard-pin, b 1KiB parts 3 within 2s
at 13ms crash node0 after 5 for 3s
at 13ms client0 get key3 from 64B room 8B, b
at 14ms client0 remove key3, b force within 1us
at 14ms block node0 to client1 for 1s
at 1s turn client0 to master1 for 1s
at 1s drift node0 by -400ppm for 1s
)",
                                   "it");
  ASSERT_TRUE(good) << good.error().message();
  ASSERT_EQ(good->steps.size(), 7u);
  EXPECT_EQ(good->nodes[0].clock.parts_per_million, -2500);
  EXPECT_EQ(good->clients[0].on_node, 0u);
  EXPECT_EQ(good->links.lose, 0.25);
  const auto& put = std::get<OperationStep>(good->steps[0].what);
  EXPECT_EQ(put.client, 1u);
  EXPECT_EQ(put.time, 2s);
  EXPECT_EQ(put.parts, 3u);
  const OperationStep::Item first{.key = "key3",
                                  .size = 100_B,
                                  .replicas = 2,
                                  .group = "g",
                                  .parent = "key1",
                                  .soft_pin = 3s,
                                  .time_to_live = 4s,
                                  .hard_pin = true};
  EXPECT_EQ(put.items.at(0), first);
  EXPECT_EQ(put.items.at(1).size, 1_KiB);
  const Fault crash{.kind = FaultKind::crash, .target = {Role::node, 0}, .amount = 5, .lasts = 3s};
  EXPECT_EQ(std::get<Fault>(good->steps[1].what), crash);
  EXPECT_EQ(std::get<OperationStep>(good->steps[2].what).items[0].range_offset, 64_B);
  EXPECT_TRUE(std::get<OperationStep>(good->steps[3].what).force);
}

TEST(ScenarioText, WhatIsWrongIsNamedWithItsLineAndWhatIsKnown) {
  const std::string pool = "values up to 1KiB\nnode0 64KiB\nclient0\n";
  const auto error_of = [&](const std::string& line) {
    const auto parsed = parse_scenario(pool + line + "\n", "file");
    return parsed ? std::string("read") : parsed.error().facts().detail;
  };
  for (const auto& [line, error] : std::vector<std::pair<std::string, std::string>>{
           {"nod 3",
            "file:4: 'nod' begins no line; known are seed, policy, one-sided, no-checksum, "
            "epochs-of-clock, shared-state, values, chunk, transfers, nic, timing, masterN, nodeN, "
            "clientN, "
            "links, at"},
           {"node2 1KiB", "file:4: 'node2' stands where 'node1' belongs: they are counted from 0"},
           {"node1 100B",
            "file:4: a segment of 100 bytes: wants a multiple of 64 bytes, up to 1GiB"},
           {"policy mru",
            "file:4: no eviction policy is named 'mru'; there are lru, fifo, lfu, clock, "
            "sieve, s3-fifo, leaf-first, length-aware, cost-aware, lfu-da"},
           {"timing leas 1s", "file:4: 'leas' is no setting of timing; known are heartbeat"},
           {"timing lease 0s", "file:4: no setting of timing is shorter than 1ms"},
           {"timing heartbeat 1ns", "file:4: no setting of timing is shorter than 1ms"},
           {"at 2592000.5s client0 get a",
            "file:4: '2592000.5s' is too long: up to 2592000s, which are 30 days"},
           {"at 99999999999999999999s client0 get a",
            "file:4: '99999999999999999999s' is too long: up to 2592000s, which are 30 days"},
           {"links lose 2", "file:4: '2' is no probability from 0 to 1"},
           {"links los 0.1", "file:4: 'los' is no fault of links; known are lose, duplicate"},
           {"at 5 client0 get a", "file:4: '5' is no time: a number and s, ms, us or ns"},
           {"at 5s client1 get a", "file:4: there is no client1; its line must stand before"},
           {"at 5s client0 fetch a", "file:4: 'fetch' is no operation; known are put, upsert"},
           {"at 5s client0 put a", "file:4: the line ends where a size such as 4KiB belongs"},
           {"at 5s client0 put a 2KiB",
            "file:4: a value of 2.00 KiB, but 'values up to' says 1.00 KiB"},
           {"at 5s client0 put a 1KiB twice", "file:4: 'twice' is more than belongs here"},
           {"at 5s client0 get a from 5B", "file:4: 'from' needs 'room': how much is wanted"},
           {"at 5s client0 get a from 5B room 0", "file:4: a room of 0 bytes takes nothing"},
           {"at 5s client0 get a\nvalues up to 1B",
            "file:5: 'values up to' stands before the first line with 'at'"},
           {"policy " + std::string(100, '\xff'),
            R"(file:4: no eviction policy is named '\xff\xff\xff\xff\xff\xff\xff\xff)"},
           {"at 5s crsh node0 for 1s",
            "file:4: 'crsh' is no client and no fault; faults are crash"},
           {"at 5s flip client0 by 1", "file:4: 'flip' does not go with client0"},
           {"at 5s flip node0 by 0", "file:4: 0 of them are none"},
           {"at 5s crash node0", "file:4: the line ends where 'for' belongs"},
           {"at 5s start master0 for 1s", "file:4: master0 runs from the beginning"},
           {"at 5s turn node0 to client0 for 1s", "file:4: nodes and clients turn to a master"},
           {"at 5s block node0 to node0 for 1s", "file:4: both ends are node0"},
           {"at 5s drift node0 by 3ppm for 1s", "file:4: '3ppm' is no clock's rate"},
           {"at 5s client0 get a\nat 4s client0 get a", "file:5: this is before the line above"}}) {
    EXPECT_EQ(error_of(line).substr(0, error.size()), error) << line;
  }
  EXPECT_EQ(parse_scenario("client0\n", "file").error().facts().detail,
            "file: it has no node: 'node0 1MiB'");
}

TEST(ScenarioText, TimesAreExactInTheLargestUnit) {
  EXPECT_EQ(duration_text(0s), "0s");
  EXPECT_EQ(duration_text(1500ms), "1.5s");
  EXPECT_EQ(duration_text(12500us), "12.5ms");
  EXPECT_EQ(duration_text(1ns), "1ns");
  EXPECT_EQ(duration_text(1000001us), "1.000001s");
}

}  // namespace
}  // namespace larder::sim
