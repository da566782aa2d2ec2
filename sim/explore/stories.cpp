#include "sim/explore/stories.h"

#include <algorithm>
#include <array>

#include "core/base/assert.h"
#include "core/base/size_text.h"
#include "sim/explore/scenario_text.h"

namespace larder::sim {

std::span<const Story> stories() {
  static constexpr std::array<Story, 4> all{{
      {"writer-crashes",
       "A writer dies while it puts a page. Who notices, and when is the space back?",
       "The master notices a dead writer by its silence: its session ends ten seconds "
       "after its last word, its put with it, and the space is back when the node has "
       "retired it. Until then the key is taken.",
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
       "A reader refuses what it has read when its own clock says that the lease is "
       "over, and there is no time to ask again. The bytes may be right; it cannot "
       "know.",
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
       "While the node is gone but not hidden yet, a get of what it alone holds fails; "
       "hidden, it is a miss, and can be put again. What has another replica is read "
       "there all the time.",
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
       "The writer closes the connection before its buffer is its own again. The node, "
       "when it wakes up, finds nobody who waits, and seals nothing; the space waits "
       "in quarantine until it has said so.",
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

namespace {

constexpr std::size_t line_max = 90;

// In lines of at most line_max.
std::string wrapped(std::string_view text) {
  std::string lines;
  std::size_t length = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (length > 0) {
      const bool fits = length + 1 + end <= line_max;
      lines += fits ? ' ' : '\n';
      length = fits ? length + 1 : 0;
    }
    lines += text.substr(0, end);
    length += end;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines + "\n";
}

// "The pool: 2 nodes of 1.00 MiB and 1.00 MiB, 2 clients, leases of 10s."
std::string pool_text(const Scenario& scenario) {
  std::string nodes;
  for (const Scenario::Node& node : scenario.nodes) {
    nodes += (nodes.empty() ? "" : " and ") + size_text(node.segment);
  }
  const std::size_t count = scenario.nodes.size();
  return "The pool: " + std::to_string(count) + (count == 1 ? " node of " : " nodes of ") + nodes +
         ", " + std::to_string(scenario.clients.size()) + " clients, leases of " +
         duration_text(scenario.timing.lease) + ".\n";
}

}  // namespace

std::string tell(const Story& story) {
  const Result<Scenario> scenario = parse_scenario(story.scenario, story.name);
  LARDER_ASSERT(scenario.has_value(), "a story's scenario can be read");
  const RunResult run = run_scenario(*scenario, {.tells = RunConfig::Tells::steps});
  std::string text = wrapped(story.question) + pool_text(*scenario) + "\n" +
                     to_text(run.time_line) + "\n" + wrapped(story.answer);
  for (const Violation& violation : run.violations) {
    text += "broken: " + to_text(violation) + "\n";
  }
  return text;
}

}  // namespace larder::sim
