#include "sim/explore/stories.h"

#include <array>

#include "core/base/assert.h"
#include "sim/explore/scenario_text.h"

namespace larder::sim {

std::span<const Story> stories() {
  static constexpr std::array<Story, 4> all{{
      {"writer-crashes",
       "A writer dies while it puts a page. Who notices, and when is the space back?",
       R"(seed 1
values up to 1MiB
nic 100MiB each second
node0 4MiB
client0
client1
at 1s     client0 put page 1MiB
at 1.005s crash client0 for 60s
at 1.1s   client1 get page
at 1.2s   client1 put page 1MiB
at 12s    client1 put page 1MiB
at 12.1s  client1 get page
)"},
      {"late-read",
       "A read outlives its lease, and its value is evicted meanwhile. When must the reader refuse "
       "the bytes?",
       R"(seed 1
values up to 1MiB
nic 100MiB each second
one-sided
timing lease 500ms
timing exists-lease 100ms
node0 2112KiB
client0
client1
at 1s     client0 put page 1MiB
at 2s     client1 get page within 1s
at 2.004s stop client1 for 1.5s
at 2.6s   client0 put other 1MiB
at 2.7s   client0 put third 1MiB
at 4s     client1 get page
)"},
      {"node-leaves",
       "A node dies with the only replica of a page. When must the reader compute again?",
       R"(seed 2
values up to 64KiB
node0 1MiB
node1 1MiB
client0
client1
at 1s     client0 put page 64KiB, safe 64KiB replicas 2
at 2s     crash node0 for 40s
at 2.1s   client1 get page, safe
at 4s     client1 get page, safe
at 4.1s   client1 put page 64KiB
at 4.2s   client1 get page
at 43s    client1 get page
)"},
      {"buffer-returned-early",
       "A writer gives up a put whose node is stuck, and uses its buffer for something else. Can "
       "the node read the new bytes and call them the page?",
       R"(seed 1
values up to 1MiB
nic 100MiB each second
node0 4MiB
client0
client1
at 1s     client0 put page 1MiB within 1s
at 1.004s stop node0 for 3s
at 2.5s   client1 get page
at 5s     client1 put page 1MiB
at 6s     client1 get page
)"},
  }};
  return all;
}

std::string tell(const Story& story) {
  const Result<Scenario> scenario = parse_scenario(story.scenario, story.name);
  LARDER_ASSERT(scenario.has_value(), "a story's scenario can be read");
  const RunResult run = run_scenario(*scenario, {.tells = RunConfig::Tells::steps});
  std::string text = std::string(story.question) + "\n\n" + to_text(run.time_line);
  for (const Violation& violation : run.violations) {
    text += "broken: " + std::string(to_string(violation.invariant)) + ": " + violation.what + "\n";
  }
  return text;
}

}  // namespace larder::sim
