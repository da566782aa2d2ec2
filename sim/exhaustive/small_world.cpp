#include "sim/exhaustive/small_world.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <set>
#include <vector>

#include "core/base/printable.h"
#include "core/protocol/timing_check.h"
#include "sim/explore/scenario_text.h"

namespace larder::sim {
namespace {

constexpr Duration endless = SmallWorld::endless;

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  line = line.substr(0, line.find('#'));
  while (true) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return words;
    line.remove_prefix(begin);
    const std::size_t length = std::min(line.find_first_of(" \t\r"), line.size());
    words.push_back(line.substr(0, length));
    line.remove_prefix(length);
  }
}

std::unexpected<Error> wrong(std::string what) {
  return failed(ErrorCode::bad_file, std::move(what));
}

// "once", "twice", or a number.
Result<std::uint8_t> count_of(std::string_view word) {
  if (word == "once") return std::uint8_t{1};
  if (word == "twice") return std::uint8_t{2};
  std::uint8_t count = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), count);
  if (error == std::errc() && end == word.data() + word.size() && count > 0) return count;
  return wrong(in_quotes(word) + " is not how often: once, twice, or up to 255");
}

// The number behind "client", "node" or "master".
Result<std::size_t> host_of(std::string_view word, std::string_view role, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (word == std::string(role) + std::to_string(i)) return i;
  }
  return wrong("there is no " + std::string(role) + " " + in_quotes(word));
}

class MayLines {
 public:
  explicit MayLines(SmallWorld& world) : world_(world) {}
  Status take(const std::vector<std::string_view>& words);

 private:
  SmallWorld& world_;
};

Status MayLines::take(const std::vector<std::string_view>& words) {
  Allowances& may = world_.may;
  const Scenario& scenario = world_.scenario;
  const auto is = [&](std::string_view verb, std::size_t size) {
    return words.size() == size && words[1] == verb;
  };
  if (is("crash", 4) && words[2].starts_with("client")) {
    LARDER_TRY(const std::size_t i, host_of(words[2], "client", scenario.clients.size()));
    LARDER_TRY(may.crash_client[i], count_of(words[3]));
  } else if (is("crash", 4)) {
    LARDER_TRY(const std::size_t i, host_of(words[2], "node", scenario.nodes.size()));
    LARDER_TRY(may.crash_node[i], count_of(words[3]));
  } else if (is("restart", 4)) {
    LARDER_TRY(const std::size_t i, host_of(words[2], "master", scenario.masters.size()));
    LARDER_TRY(may.restart_master[i], count_of(words[3]));
  } else if (is("start", 3)) {
    if (scenario.masters.size() < 2 || words[2] != "master1") {
      return wrong("only master1 can be started, and has a line of its own");
    }
    may.start_master1 = 1;
  } else if (is("lose", 3)) {
    LARDER_TRY(may.lose, count_of(words[2]));
  } else if (is("double", 3)) {
    LARDER_TRY(may.twice, count_of(words[2]));
  } else if (is("pass", 3)) {
    LARDER_TRY(may.pass, count_of(words[2]));
  } else {
    return wrong(
        "known are: may crash client0 once, may crash node0 once, may restart master0 once, may "
        "start master1, may lose twice, may double once, may pass 3");
  }
  return {};
}

void make_endless(Timing& timing, const std::set<std::string, std::less<>>& set) {
  for (const TimingName& each : timing_names()) {
    if (!set.contains(each.name)) timing.*each.member = endless;
  }
  const auto unless_set = [&](std::string_view name, Duration& time, Duration bound) {
    if (!set.contains(name)) time = std::min(time, bound);
  };
  unless_set("exists-lease", timing.exists_lease, timing.lease);
  const Duration shortest =
      std::min({timing.hidden_after_silence, timing.session_lost, timing.stale_heartbeat});
  unless_set("heartbeat", timing.heartbeat, shortest / 2);
  unless_set("retirement-retry", timing.retirement_retry, timing.retirement_sick);
}

Status check_step(const Scenario& scenario, const Step& step) {
  const auto* operation = std::get_if<OperationStep>(&step.what);
  if (operation == nullptr) return wrong("faults are written with 'may', not with 'at'");
  if (operation->items.size() != 1 || operation->parts != 1) {
    return wrong("an operation of a small world has one item, in one part");
  }
  if (operation->items[0].size.value > 32 * scenario.chunk.value) {
    return wrong("a value of a small world has at most 32 chunks");
  }
  return {};
}

Status check_size(const SmallWorld& world) {
  const Scenario& scenario = world.scenario;
  if (scenario.clients.size() > Allowances::hosts_max ||
      scenario.nodes.size() > Allowances::hosts_max) {
    return wrong("a small world has at most 8 clients and 8 nodes");
  }
  return check(scenario.timing);
}

}  // namespace

Result<SmallWorld> parse_small_world(std::string_view text, std::string_view name) {
  std::string rest;  // the scenario, with an empty line for each line of ours
  struct May {
    std::size_t line;
    std::vector<std::string_view> words;
  };
  std::vector<May> mays;
  std::set<std::string, std::less<>> times;
  std::vector<std::size_t> steps;  // their lines
  std::size_t number = 0;
  for (std::string_view left = text; !left.empty();) {
    const std::size_t end = std::min(left.find('\n'), left.size());
    const std::string_view line = left.substr(0, end);
    left.remove_prefix(std::min(end + 1, left.size()));
    ++number;
    auto words = words_of(line);
    if (!words.empty() && words[0] == "at") steps.push_back(number);
    if (words.size() > 1 && words[0] == "timing") times.emplace(words[1]);
    if (!words.empty() && words[0] == "may") {
      mays.push_back({number, std::move(words)});
    } else {
      rest += line;
    }
    rest += '\n';
  }
  SmallWorld world{.name = std::string(name), .scenario = {}, .may = {}};
  LARDER_TRY(world.scenario, parse_scenario(rest, name));
  make_endless(world.scenario.timing, times);
  const auto at = [&](const std::string& place, const Status& status) {
    return failed(ErrorCode::bad_file, place + ": " + status.error().facts().detail);
  };
  const auto at_line = [&](std::size_t line, const Status& status) {
    return at(std::string(name) + ":" + std::to_string(line), status);
  };
  if (const Status good = check_size(world); !good) return at(std::string(name), good);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Status good = check_step(world.scenario, world.scenario.steps[i]);
    if (!good) return at_line(steps[i], good);
  }
  for (const May& may : mays) {
    if (const Status good = MayLines(world).take(may.words); !good) {
      return at_line(may.line, good);
    }
  }
  return world;
}

std::string world_list() {
  std::string list;
  for (const NamedWorld& world : named_worlds()) {
    list += (list.empty() ? "" : ", ") + std::string(world.name);
  }
  return list;
}

}  // namespace larder::sim
