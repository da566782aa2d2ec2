#include "sim/cli/exhaustive.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "core/base/printable.h"
#include "sim/cli/text_file.h"
#include "sim/cli/violation.h"
#include "sim/exhaustive/search.h"
#include "sim/explore/guard_names.h"
#include "terminal/output.h"
#include "terminal/progress.h"

namespace larder::sim {
namespace {

using nlohmann::ordered_json;
using terminal::print;
using terminal::with_thousands;
using WallClock = std::chrono::steady_clock;

double seconds_since(WallClock::time_point begin) {
  return std::chrono::duration<double>(WallClock::now() - begin).count();
}

Result<SmallWorld> load_world(const std::string& name) {
  const auto named = std::ranges::find(named_worlds(), name, &NamedWorld::name);
  if (named != named_worlds().end()) return parse_small_world(named->text, name);
  std::error_code missing;
  if (!std::filesystem::exists(name, missing)) {
    return failed(
        ErrorCode::file_open_fail,
        in_quotes(name) + " is neither a file nor one of the worlds all, " + world_list());
  }
  LARDER_TRY(const std::string text, read_text_file(name));
  return parse_small_world(text, name);
}

std::string end_text(const SearchResult& result) {
  switch (result.end) {
    case SearchResult::End::exhausted:
      return fmt::format("exhausted: all {} states", with_thousands(result.states));
    case SearchResult::End::states:
      return fmt::format("stopped at the bound of {} states, depth {}",
                         with_thousands(result.states), result.depth);
    case SearchResult::End::stopped:
      return fmt::format("stopped at the bound of time, {} states, depth {}",
                         with_thousands(result.states), result.depth);
    case SearchResult::End::violation:
      break;
  }
  return fmt::format("VIOLATION after {} states", with_thousands(result.states));
}

std::string told_text(const Replay& replay) {
  std::string text;
  for (const Pool::Told& told : replay.told) {
    text += fmt::format("  {:>4}  {:<8} {}\n", told.step, told.who, told.what);
  }
  for (const Violation& violation : replay.violations) {
    text += fmt::format("  broken: {}\n", to_text(violation));
  }
  return text;
}

std::string result_text(const SmallWorld& world, const ExhaustiveArguments& arguments,
                        const SearchResult& result, double wall_s) {
  std::string text = fmt::format(
      "{:<20} {}; {} transitions, {} ends, longest way {}, {} executions in {:.1f} s\n", world.name,
      end_text(result), with_thousands(result.transitions), with_thousands(result.ends),
      result.depth, with_thousands(result.executions), wall_s);
  if (arguments.test_merges > 0) {
    text += fmt::format("{:<20} of {} merges tested, {} go on differently\n", "",
                        with_thousands(result.merges_tested), with_thousands(result.false_merges));
  }
  if (result.false_merges > 0) {
    text +=
        fmt::format("two ways to what is not one state:\n  --way '{}'\n  --way '{}'\n",
                    way_text(result.falsely_merged.first), way_text(result.falsely_merged.second));
  }
  if (result.violations.empty()) return text;
  return text + told_text(replay(world, arguments.guards, result.way, true)) +
         fmt::format("again: larder-sim explore --exhaustive {}{} --way '{}'\n", world.name,
                     without_flags(arguments.guards), way_text(result.way));
}

ordered_json to_json(const SmallWorld& world, const SearchResult& result, double wall_s) {
  ordered_json json{{"world", world.name},
                    {"exhausted", result.end == SearchResult::End::exhausted},
                    {"states", result.states},
                    {"transitions", result.transitions},
                    {"executions", result.executions},
                    {"depth", result.depth},
                    {"merges_tested", result.merges_tested},
                    {"false_merges", result.false_merges},
                    {"violation", nullptr},
                    {"wall_s", wall_s}};
  if (!result.violations.empty()) {
    json["violation"] = std::string(to_string(result.violations.front().invariant)) + ": " +
                        result.violations.front().what;
    json["way"] = way_text(result.way);
  }
  return json;
}

Result<bool> search_one(const std::string& name, const ExhaustiveArguments& arguments) {
  LARDER_TRY(const SmallWorld world, load_world(name));
  if (!arguments.way.empty()) {
    LARDER_TRY(const std::vector<Action> way, parse_way(arguments.way));
    const Replay told = replay(world, arguments.guards, way, true);
    LARDER_CHECK(print(told_text(told) + (told.violations.empty() ? "no violation\n" : "")));
    return told.violations.empty();
  }
  const auto begin = WallClock::now();
  terminal::ProgressBar progress({.title = name, .enabled = !arguments.json});
  const double limit_s = arguments.minutes * 60;
  const SearchResult result = search(
      world, {.guards = arguments.guards,
              .states_max = arguments.states,
              .sleep_sets = !arguments.every_order,
              .test_merges = arguments.test_merges,
              .goes_on = [&](std::uint64_t states, std::size_t depth) {
                const double passed_s = seconds_since(begin);
                progress.show(static_cast<double>(states) / static_cast<double>(arguments.states),
                              fmt::format("{} states, depth {}", with_thousands(states), depth));
                return limit_s == 0 || passed_s < limit_s;
              }});
  const double wall_s = seconds_since(begin);
  LARDER_CHECK(print(arguments.json ? to_json(world, result, wall_s).dump() + "\n"
                                    : result_text(world, arguments, result, wall_s)));
  return result.violations.empty() && result.false_merges == 0;
}

}  // namespace

Status run_exhaustive(const ExhaustiveArguments& arguments) {
  if (arguments.states == 0) {
    return failed(ErrorCode::invalid_params, "--states must be at least 1");
  }
  std::vector<std::string> names{arguments.world};
  if (arguments.world == "all") {
    names.clear();
    for (const NamedWorld& world : named_worlds()) names.emplace_back(world.name);
  }
  std::size_t broken = 0;
  for (const std::string& name : names) {
    LARDER_TRY(const bool good, search_one(name, arguments));
    broken += good ? 0 : 1;
  }
  if (broken == 0) return {};
  end_with_violation(fmt::format("{} of {} small worlds broke an invariant", broken, names.size()));
}

}  // namespace larder::sim
