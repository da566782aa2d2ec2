#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/base/duration_text.h"
#include "core/base/percent.h"
#include "core/base/printable.h"
#include "core/base/size_text.h"
#include "sim/cli/commands.h"
#include "sim/incident/incident_replay.h"
#include "sim/incident/key_story.h"
#include "sim/incident/wall_clock.h"
#include "sim/incident/what_if.h"
#include "terminal/command.h"
#include "terminal/output.h"
#include "terminal/progress.h"

namespace larder::sim {
namespace {

using nlohmann::ordered_json;
using terminal::with_thousands;

struct IncidentArguments {
  std::filesystem::path directory;
  std::string key;
  std::string prefix;
  std::string at;
  std::string policy;
  std::string lease;
  double pool_size = 1;
  bool json = false;

  bool asks_for_story() const { return !key.empty() || !prefix.empty(); }
  bool asks_what_if() const {
    return !at.empty() || !policy.empty() || !lease.empty() || pool_size != 1;
  }
};

std::string rows(const std::vector<std::pair<std::string, std::string>>& lines) {
  std::string text;
  for (const auto& [name, value] : lines) text += fmt::format("{:<13}{}\n", name, value);
  return text;
}

std::string states_text(std::uint64_t compared) {
  if (compared == 0) return "no later state follows with which the end could be compared";
  return with_thousands(compared) + (compared == 1 ? " state" : " states") +
         " compared, the same digests";
}

std::string left_out_text(const IncidentSummary& summary) {
  return fmt::format("{} of {} bytes, since they are damaged; compared were {} calls and {} states",
                     with_thousands(summary.left_out.value), with_thousands(summary.bytes.value),
                     with_thousands(summary.calls), with_thousands(summary.states_compared));
}

std::string to_text(const IncidentSummary& summary) {
  std::string kinds;
  for (const auto& [kind, count] : summary.by_kind) {
    kinds += (kinds.empty() ? "" : ", ") + kind + " " + with_thousands(count);
  }
  const std::int64_t span = summary.last_wall_clock_ns - summary.first_wall_clock_ns;
  std::string text =
      rows({{"recording", fmt::format("{} files, {}", summary.files, size_text(summary.bytes))},
            {"from", wall_clock_text(summary.first_wall_clock_ns)},
            {"to", fmt::format("{} ({:.3f} s)", wall_clock_text(summary.last_wall_clock_ns),
                               static_cast<double>(span) / 1e9)},
            {"calls", with_thousands(summary.calls) + (kinds.empty() ? "" : ": " + kinds)},
            {"items", with_thousands(summary.items)},
            {"objects",
             fmt::format("{} at the begin, {} at the end", with_thousands(summary.objects_first),
                         with_thousands(summary.objects_last))}});
  for (const std::string& each : summary.breaks) text += rows({{"note", each}});
  for (const std::string& each : summary.damages) text += rows({{"DAMAGE", each}});
  if (summary.divergence) {
    text += rows({{"DIVERGENCE", summary.divergence->where}, {"", summary.divergence->what}});
  } else {
    text += rows({{"replay", "the same answers and commands, call by call; " +
                                 states_text(summary.states_compared)}});
  }
  if (!summary.damages.empty()) text += rows({{"left out", left_out_text(summary)}});
  return text;
}

ordered_json to_json(const IncidentSummary& summary) {
  ordered_json json{
      {"files", summary.files},
      {"bytes", summary.bytes.value},
      {"from", wall_clock_text(summary.first_wall_clock_ns)},
      {"to", wall_clock_text(summary.last_wall_clock_ns)},
      {"span_s",
       static_cast<double>(summary.last_wall_clock_ns - summary.first_wall_clock_ns) / 1e9},
      {"calls", summary.calls},
      {"by_kind", summary.by_kind},
      {"items", summary.items},
      {"objects_first", summary.objects_first},
      {"objects_last", summary.objects_last},
      {"states_compared", summary.states_compared},
      {"breaks", summary.breaks},
      {"damages", summary.damages},
      {"left_out_bytes", summary.left_out.value},
      {"divergence", nullptr}};
  if (summary.divergence) {
    json["divergence"] = {{"where", summary.divergence->where}, {"what", summary.divergence->what}};
  }
  return json;
}

ordered_json to_json(const std::vector<KeyStory::Line>& lines) {
  ordered_json list = ordered_json::array();
  for (const KeyStory::Line& line : lines) {
    list.push_back({{"time", wall_clock_text(line.wall_clock_ns)},
                    {"who", line.who},
                    {"what", line.what},
                    {"times", line.times},
                    {"until", wall_clock_text(line.last_wall_clock_ns)}});
  }
  return list;
}

std::string hit_rate(const WhatIf::Side& side) {
  if (side.gets == 0) return "-";
  return terminal::as_percent(static_cast<double>(side.hits) / static_cast<double>(side.gets));
}

std::string to_text(const WhatIf::Outcome& outcome) {
  const WhatIf::Side& a = outcome.recorded;
  const WhatIf::Side& b = outcome.other;
  const auto row = [](std::string_view name, const std::string& recorded,
                      const std::string& other) {
    return fmt::format("{:<17}{:>16}{:>16}\n", name, recorded, other);
  };
  const auto count = [&](std::string_view name, std::uint64_t recorded, std::uint64_t other) {
    return row(name, with_thousands(recorded), with_thousands(other));
  };
  std::string text = fmt::format("from {} to {}\n", wall_clock_text(outcome.begin_ns),
                                 wall_clock_text(outcome.end_ns)) +
                     row("", "recorded", "what if") + row("policy", a.policy, b.policy) +
                     row("memory", size_text(a.memory), size_text(b.memory)) +
                     row("lease", time_text(a.lease), time_text(b.lease)) +
                     count("gets", a.gets, b.gets) + count("hits", a.hits, b.hits) +
                     row("hit rate", hit_rate(a), hit_rate(b)) + count("puts", a.puts, b.puts) +
                     count("refused items", a.refused, b.refused) +
                     count("evicted objects", a.evicted_objects, b.evicted_objects) +
                     row("evicted bytes", size_text(a.evicted_bytes), size_text(b.evicted_bytes)) +
                     count("objects then", a.objects, b.objects) +
                     row("used then", size_text(a.used), size_text(b.used));
  text += fmt::format(
      "{} gets found in the recording would have missed, {} that missed would have "
      "found\n",
      with_thousands(outcome.only_recorded_hits), with_thousands(outcome.only_other_hits));
  if (outcome.first) {
    text += fmt::format("first at {}: {}\n", wall_clock_text(outcome.first->wall_clock_ns),
                        outcome.first->what);
  }
  if (outcome.ends_left_out > 0) {
    text += fmt::format("{} puts got no space here, and their ends are left out\n",
                        with_thousands(outcome.ends_left_out));
  }
  if (!outcome.stopped.empty()) {
    text += "it ends where what can be replayed does: " + outcome.stopped + "\n";
  }
  if (outcome.next_begin_ns != 0) {
    const std::string next = wall_clock_text(outcome.next_begin_ns);
    text += fmt::format(
        "the recording goes on at {} with another state; --at '{}' asks of what "
        "follows\n",
        next, next.substr(0, next.find(" UTC")));
  }
  return text +
         "What clients did is what they did in the recording: who missed a value put it, and who "
         "found it\ndid not. Nodes retire at once what they are asked to.\n";
}

ordered_json to_json(const WhatIf::Side& side) {
  return {{"gets", side.gets},
          {"hits", side.hits},
          {"puts", side.puts},
          {"refused_items", side.refused},
          {"evicted_objects", side.evicted_objects},
          {"evicted_bytes", side.evicted_bytes.value},
          {"objects", side.objects},
          {"used", side.used.value},
          {"policy", side.policy},
          {"memory", side.memory.value},
          {"lease_s", static_cast<double>(side.lease.count()) / 1e9}};
}

ordered_json to_json(const WhatIf::Outcome& outcome) {
  ordered_json json{{"from", wall_clock_text(outcome.begin_ns)},
                    {"to", wall_clock_text(outcome.end_ns)},
                    {"recorded", to_json(outcome.recorded)},
                    {"what_if", to_json(outcome.other)},
                    {"only_recorded_hits", outcome.only_recorded_hits},
                    {"only_what_if_hits", outcome.only_other_hits},
                    {"ends_left_out", outcome.ends_left_out},
                    {"stopped", outcome.stopped},
                    {"goes_on", outcome.next_begin_ns == 0
                                    ? ordered_json()
                                    : ordered_json(wall_clock_text(outcome.next_begin_ns))},
                    {"first_difference", nullptr}};
  if (outcome.first) {
    json["first_difference"] = {{"time", wall_clock_text(outcome.first->wall_clock_ns)},
                                {"what", outcome.first->what}};
  }
  return json;
}

// The recorded master's begin, for moments on its day.
Result<std::int64_t> begin_of(const std::vector<journal::Slot>& slots) {
  for (const journal::Slot& slot : slots) {
    if (!slot.state) continue;
    if (const auto state = journal::read_state(*slot.state)) return state->header.wall_clock_ns;
  }
  return failed(ErrorCode::bad_file, "no state of the recording can be read");
}

Result<WhatIf::Question> question_of(const IncidentArguments& arguments,
                                     const std::vector<journal::Slot>& slots) {
  WhatIf::Question question;
  if (!arguments.at.empty()) {
    LARDER_TRY(const std::int64_t begin, begin_of(slots));
    LARDER_TRY(question.at_ns, parse_moment(arguments.at, begin));
  }
  if (!arguments.policy.empty()) question.change.policy = arguments.policy;
  if (!arguments.lease.empty()) {
    LARDER_TRY(question.change.lease, parse_duration(arguments.lease));
  }
  question.change.memory_factor = arguments.pool_size;
  return question;
}

// A replay of its own for each question: a story's and a what-if's observers know nothing of each
// other.
Result<IncidentSummary> replay(const std::vector<journal::Slot>& slots,
                               IncidentObserver& observer) {
  terminal::ProgressBar bar({.title = "replayed"});
  return IncidentReplay(slots, observer).run([&](double share) {
    bar.show(share, "");
    return true;
  });
}

Status run(const IncidentArguments& arguments) {
  LARDER_TRY(const auto slots, journal::open_ring(arguments.directory));
  if (arguments.asks_for_story() && arguments.asks_what_if()) {
    return failed(ErrorCode::invalid_params,
                  "--key and --prefix tell what happened; ask what if in another run");
  }
  ordered_json json;
  std::string text;
  std::optional<IncidentSummary> summary;
  if (arguments.asks_for_story()) {
    const bool prefix = arguments.key.empty();
    LARDER_TRY(const std::string key, percent_unescaped(prefix ? arguments.prefix : arguments.key));
    KeyStory story({.key = key, .prefix = prefix});
    LARDER_TRY(summary, replay(slots, story));
    if (!story.knows()) {
      return failed(ErrorCode::object_not_found,
                    "nothing is known of " +
                        std::string(prefix ? "keys with the prefix " : "key ") +
                        in_quotes(prefix ? arguments.prefix : arguments.key));
    }
    json["story"] = to_json(story.lines());
    text = to_text(story.lines());
  } else if (arguments.asks_what_if()) {
    LARDER_TRY(const WhatIf::Question question, question_of(arguments, slots));
    WhatIf what_if(question);
    LARDER_TRY(summary, replay(slots, what_if));
    LARDER_TRY(const WhatIf::Outcome outcome, what_if.outcome());
    json["what_if"] = to_json(outcome);
    text = to_text(outcome);
  } else {
    IncidentObserver nobody;
    LARDER_TRY(summary, replay(slots, nobody));
    text = to_text(*summary);
  }
  json["summary"] = to_json(*summary);
  LARDER_CHECK(terminal::print(arguments.json ? json.dump(2) + "\n" : text));
  if (!summary->divergence) {
    if (summary->damages.empty()) return {};
    return failed(ErrorCode::bad_file, "the recording is damaged; left out are " +
                                           left_out_text(*summary) +
                                           "; first: " + summary->damages.front());
  }
  return failed(ErrorCode::internal_error,
                "the replay is not what was recorded: " + summary->divergence->where + ": " +
                    summary->divergence->what);
}

}  // namespace

void add_incident(terminal::Command app, Status& outcome) {
  const terminal::Command command = app.add_subcommand(
      "incident", "Replays what a master recorded, and says what happened and what could have");
  command.footer(
      "DIR is what the master was started with: larder master --record DIR. Each answer and "
      "command "
      "of the\n"
      "replay is held against the recorded ones; the first that differs is named, and the exit "
      "code is 1,\n"
      "as it is if a file is damaged. That a master which was killed leaves a torn last record is "
      "normal.\n"
      "Examples: larder-sim incident /var/lib/larder/record\n"
      "          larder-sim incident DIR --key prompt/7f3a\n"
      "          larder-sim incident DIR --at 14:03 --policy leaf-first --pool-size 0.5");
  const auto arguments = std::make_shared<IncidentArguments>();
  command.add_option("DIR", arguments->directory, "The recording").required();
  command.add_option("--key", arguments->key,
                     "Tell what became of this key, as larder shows it (%XX for odd bytes)");
  command.add_option("--prefix", arguments->prefix, "The same of all keys that begin so");
  command.add_option("--at", arguments->at,
                     "Go on from this moment in another way: 14:03, 14:03:07.5 or 2026-11-30 14:03 "
                     "in UTC, or +12.5s after the begin; without it from the begin");
  command.add_option("--policy", arguments->policy, "With this eviction policy");
  command.add_option("--lease", arguments->lease, "With leases of this time, such as 2s");
  command
      .add_option("--pool-size", arguments->pool_size,
                  "With so many times the memory, such as 0.5 or 2")
      .in_range(0.01, 1000.0);
  command.add_flag("--json", arguments->json, "Print one JSON object");
  command.callback([arguments, &outcome] { outcome = run(*arguments); });
}

}  // namespace larder::sim
