#include "sim/explore/explore.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/printable.h"
#include "sim/cli/commands.h"
#include "sim/cli/exhaustive.h"
#include "sim/cli/seed_argument.h"
#include "sim/cli/text_file.h"
#include "sim/cli/violation.h"
#include "sim/exhaustive/small_world.h"
#include "sim/explore/draw.h"
#include "sim/explore/guard_names.h"
#include "sim/explore/scenario_text.h"
#include "sim/explore/shrink.h"
#include "terminal/arguments.h"
#include "terminal/command.h"
#include "terminal/output.h"
#include "terminal/progress.h"

namespace larder::sim {
namespace {

using nlohmann::ordered_json;
using terminal::add_number;
using terminal::print;
using terminal::with_thousands;
using WallClock = std::chrono::steady_clock;

struct ExploreArguments {
  ExploreConfig config;
  std::vector<std::string> without;
  std::string scenario;
  std::string write;
  double hours = 0;
  double shrink_seconds = 30;
  std::string shrunk;
  bool tell = false;
  ExhaustiveArguments exhaustive;
  bool json = false;
};

double in_seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

double seconds_since(WallClock::time_point begin) {
  return std::chrono::duration<double>(WallClock::now() - begin).count();
}

ordered_json to_json(const ExploreResult& result, double wall_s) {
  ordered_json json{{"seeds", result.seeds}, {"violations", result.violations}};
  json["failing_seeds"] = result.failing;
  json["first_failing_seed"] =
      result.first_failing ? ordered_json(result.first_failing->seed) : ordered_json();
  json["state_hash"] = fmt::format("{:016x}", result.state_hash);
  json["events"] = result.events;
  json["operations"] = result.operations.began;
  json["operations_succeeded"] = result.operations.succeeded;
  json["operations_failed"] = result.operations.failed;
  json["operations_lost"] = result.operations.lost;
  json["operations_not_begun"] = result.operations.not_begun;
  json["virtual_s"] = in_seconds(result.virtual_time);
  json["wall_s"] = wall_s;
  return json;
}

// The first few, and how many more.
std::string to_text(const RunResult& run) {
  constexpr std::size_t shown_max = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(run.violations.size(), shown_max); ++i) {
    const Violation& violation = run.violations[i];
    text += fmt::format("  {:>12.6f} s  {}\n", in_seconds(violation.when - Instant{}),
                        to_text(violation));
  }
  if (run.violations.size() > shown_max) {
    text += fmt::format("  ... and {} more\n", run.violations.size() - shown_max);
  }
  return text;
}

// "NO_AVAILABLE_HANDLE 41, OBJECT_NOT_FOUND 12": the most frequent ones.
std::string reasons_text(const OperationCounts& operations) {
  constexpr std::size_t shown_max = 5;
  std::vector<std::pair<ErrorCode, std::uint64_t>> reasons(operations.reasons.begin(),
                                                           operations.reasons.end());
  std::ranges::sort(reasons, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  std::string text;
  for (std::size_t i = 0; i < std::min(reasons.size(), shown_max); ++i) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", error_name(reasons[i].first),
                        with_thousands(reasons[i].second));
  }
  if (reasons.size() > shown_max) text += ", ...";
  return text;
}

std::string to_text(const OperationCounts& operations) {
  std::string text =
      fmt::format("{} operations: {} succeeded, {} failed, {} were lost with their client\n",
                  with_thousands(operations.began), with_thousands(operations.succeeded),
                  with_thousands(operations.failed), with_thousands(operations.lost));
  if (operations.failed > 0) text += "failed with " + reasons_text(operations) + "\n";
  if (operations.not_begun > 0) {
    text += fmt::format("{} more did not begin, since their client was dead then\n",
                        with_thousands(operations.not_begun));
  }
  return text + fmt::format("{} values put, {} read whole\n", with_thousands(operations.puts_ok),
                            with_thousands(operations.gets_ok));
}

std::string to_text(const ExploreResult& result, double wall_s) {
  std::string text = fmt::format(
      "{} seeds, {} events; {}"
      "{:.0f} s of virtual time in {:.1f} s; state hash {:016x}\n",
      with_thousands(result.seeds), with_thousands(result.events), to_text(result.operations),
      in_seconds(result.virtual_time), wall_s, result.state_hash);
  if (!result.first_failing) return text + "no violation\n";
  for (const ExploreResult::Refusal& each : result.refusals) {
    text += fmt::format("seed {}: the core refused to go on: {}\n", each.seed,
                        printable(each.what, 300));
  }
  const SeedResult& seed = *result.first_failing;
  return text + fmt::format("seed {} (faults: {}):\n{}", seed.seed, seed.faults, to_text(seed.run));
}

// "6 of 100 seeds broke an invariant: 12, 31, 40 (larder-sim explore --seed 12 --tell tells ...)"
std::string violation_text(const ExploreResult& result, const ExploreConfig& config) {
  constexpr std::size_t named_max = 100;
  std::string seeds;
  for (std::size_t i = 0; i < std::min(result.failing.size(), named_max); ++i) {
    seeds += (i == 0 ? "" : ", ") + std::to_string(result.failing[i]);
  }
  if (result.violations > named_max) {
    seeds += fmt::format(" and {} more", result.violations - named_max);
  }
  const std::string operations = config.operations == ExploreConfig().operations
                                     ? ""
                                     : fmt::format(" --operations {}", config.operations);
  return fmt::format(
      "{} of {} seeds broke an invariant: {} (larder-sim explore --seed {}{}{} --tell tells the "
      "first)",
      result.violations, result.seeds, seeds, result.failing.front(), operations,
      without_flags(config.guards));
}

// ---- what it does -------------------------------------------------------------------------------

// The smallest scenario that fails like this one, in a file, and what happens in it.
Status tell_failure(const Scenario& scenario, const ExploreArguments& arguments) {
  if (arguments.shrink_seconds <= 0 || arguments.json) return {};
  const auto begin = WallClock::now();
  const ThrowingAssertions throwing;
  const auto shrunk = shrink(scenario, {.guards = arguments.config.guards, .goes_on = [&] {
                                          return seconds_since(begin) < arguments.shrink_seconds;
                                        }});
  if (!shrunk) return {};
  LARDER_CHECK(write_text_file(arguments.shrunk, scenario_text(shrunk->scenario)));
  const std::string again = "larder-sim explore --scenario " + arguments.shrunk + " --tell" +
                            without_flags(shrunk->guards);
  return print(fmt::format("\nthe smallest that was found in {} runs:\n\n{}\n{}\nagain: {}\n",
                           with_thousands(shrunk->runs), scenario_text(shrunk->scenario),
                           to_text(*shrunk), again));
}

Status run_one(const Scenario& scenario, const ExploreArguments& arguments) {
  const ThrowingAssertions throwing;
  const RunResult run = run_scenario(
      scenario, {.guards = arguments.config.guards,
                 .tells = arguments.tell ? RunConfig::Tells::steps : RunConfig::Tells::nothing});
  LARDER_CHECK(print(to_text(run.time_line)));
  LARDER_CHECK(
      print(fmt::format("faults: {}\n{} events; {}state hash {:016x}\n{}", fault_names(scenario),
                        with_thousands(run.events), to_text(run.operations), run.state_hash,
                        run.violations.empty() ? "no violation\n" : to_text(run))));
  if (run.violations.empty()) return {};
  LARDER_CHECK(tell_failure(scenario, arguments));
  end_with_violation("the scenario broke an invariant");
}

// What is shrunk must not replace what it was made of.
Status check_shrunk(const ExploreArguments& arguments) {
  std::error_code missing;
  if (arguments.shrink_seconds <= 0 ||
      !std::filesystem::equivalent(arguments.shrunk, arguments.scenario, missing)) {
    return {};
  }
  return failed(ErrorCode::invalid_params,
                "--shrink would write over " + in_quotes(arguments.scenario) +
                    ", which --scenario reads: name another file with --shrunk");
}

Status run_file(const ExploreArguments& arguments) {
  LARDER_CHECK(check_shrunk(arguments));
  LARDER_TRY(const std::string text, read_text_file(arguments.scenario));
  LARDER_TRY(const Scenario scenario, parse_scenario(text, arguments.scenario));
  return run_one(scenario, arguments);
}

Status run_seeds(const ExploreArguments& arguments) {
  const auto begin = WallClock::now();
  terminal::ProgressBar progress({.title = "explore", .enabled = !arguments.json});
  const double limit_s = arguments.hours * 3600;
  const ExploreResult result = explore(arguments.config, [&](std::uint64_t done) {
    const double passed_s = seconds_since(begin);
    const auto seeds = static_cast<double>(arguments.config.seeds);
    progress.show(limit_s > 0 ? passed_s / limit_s : static_cast<double>(done) / seeds,
                  with_thousands(done) + " seeds");
    return limit_s == 0 || passed_s < limit_s;
  });
  const double wall_s = seconds_since(begin);
  LARDER_CHECK(
      print(arguments.json ? to_json(result, wall_s).dump() + "\n" : to_text(result, wall_s)));
  if (!result.first_failing) return {};
  LARDER_CHECK(tell_failure(draw_scenario(result.first_failing->seed, arguments.config.operations),
                            arguments));
  end_with_violation(violation_text(result, arguments.config));
}

Status run(ExploreArguments arguments) {
  for (const std::string& name : arguments.without) {
    bool Guards::* guard = guard_named(name);
    if (guard == nullptr) {
      return failed(ErrorCode::invalid_params,
                    "no guard is named " + in_quotes(name) + "; there are " + guard_list());
    }
    arguments.config.guards.*guard = false;
  }
  if (!arguments.exhaustive.world.empty()) {
    arguments.exhaustive.guards = arguments.config.guards;
    arguments.exhaustive.json = arguments.json;
    return run_exhaustive(arguments.exhaustive);
  }
  if (!arguments.write.empty()) {
    return write_text_file(
        arguments.write,
        scenario_text(draw_scenario(arguments.config.first_seed, arguments.config.operations)));
  }
  if (!arguments.scenario.empty()) return run_file(arguments);
  if (arguments.config.seeds == 0 || arguments.config.operations == 0 ||
      arguments.config.threads == 0) {
    return failed(
        ErrorCode::invalid_params,
        "--seeds, --operations and --threads must be at least 1: nothing would be checked");
  }
  if (arguments.hours > 0) arguments.config.seeds = ~std::uint64_t{0} - arguments.config.first_seed;
  if (arguments.tell) {
    return run_one(draw_scenario(arguments.config.first_seed, arguments.config.operations),
                   arguments);
  }
  return run_seeds(arguments);
}

// ---- its command line ---------------------------------------------------------------------------

// What a flag asks for must not be passed over in silence.
Status check_flags(terminal::Command command, const ExploreArguments& arguments) {
  const auto given = [&](const std::string& name) { return command.count(name) > 0; };
  const auto none_of = [&](std::initializer_list<const char*> names,
                           const std::string& why) -> Status {
    for (const char* name : names) {
      if (given(name)) return failed(ErrorCode::invalid_params, std::string(name) + " " + why);
    }
    return {};
  };
  if (!arguments.exhaustive.world.empty()) {
    return none_of({"--seeds", "--first", "--seed", "--operations", "--threads", "--twice",
                    "--hours", "--scenario", "--write", "--shrink", "--shrunk", "--tell"},
                   "is of drawn scenarios: leave it out with --exhaustive, which goes through one "
                   "world, by one thread, and tells what it finds");
  }
  LARDER_CHECK(none_of({"--states", "--minutes", "--test-merges", "--every-order", "--way"},
                       "is of small worlds: name one with --exhaustive"));
  if (!arguments.scenario.empty()) {
    return none_of({"--seeds", "--first", "--seed", "--operations", "--threads", "--twice",
                    "--hours", "--write", "--json"},
                   "is of drawn scenarios: leave it out with --scenario, which runs that of the "
                   "file, once");
  }
  if (!arguments.write.empty()) {
    return none_of({"--seeds", "--threads", "--twice", "--hours", "--without", "--shrink",
                    "--shrunk", "--tell", "--json"},
                   "is of a run: leave it out with --write, which writes the scenario of one seed "
                   "(--seed) and runs nothing");
  }
  if (given("--hours") && given("--seeds")) {
    return failed(ErrorCode::invalid_params, "--hours or --seeds says when it ends: give one");
  }
  if (!arguments.tell) return {};
  if (arguments.config.seeds != 1) {
    return failed(ErrorCode::invalid_params,
                  "--tell tells of one run: give --seed N or --scenario FILE");
  }
  return none_of({"--json", "--twice", "--hours"}, "is not of one run that is told: leave it out");
}

std::string footer() {
  std::string text =
      "What must always hold: a get that reports\n"
      "success returned exactly the bytes of one put of its key, an acknowledged removal stays,\n"
      "and once the faults stop every operation ends and no space is lost. Each seed is a world\n"
      "of its own and draws its own subset of faults. Messages are lost, duplicated, reordered,\n"
      "delayed and corrupted, and bytes on their way; and there are:\n";
  for (const FaultInfo& fault : all_faults()) {
    text += fmt::format("  {:<11} {}\n", fault.name, fault.what);
  }
  return text + "docs/simulator.md tells how scenarios are written.\n" + exit_codes_help +
         "Example: larder-sim explore --seeds 1000 --threads 2";
}

void add_exhaustive(terminal::Command command, ExhaustiveArguments& arguments) {
  command
      .add_option("--exhaustive", arguments.world,
                  "Everything that can happen in a small world instead of drawn scenarios: a file, "
                  "all, or " +
                      world_list())
      .type_name("WORLD");
  add_number(command, "--states", arguments.states, "Of a small world, at most so many");
  add_number(command, "--minutes", arguments.minutes, "And for so long; 0: no bound");
  add_number(command, "--test-merges", arguments.test_merges,
             "Test every so manieth state: do all histories of it go on likewise? 0: none");
  command.add_flag("--every-order", arguments.every_order,
                   "Try both orders of what commutes too (the same states, more transitions)");
  command.add_option("--way", arguments.way, "Tell this one way through the small world instead")
      .type_name("ACTIONS");
}

}  // namespace

void add_explore(terminal::Command app, Status& outcome) {
  const terminal::Command command = app.add_subcommand(
      "explore", "Runs random pools under random faults and checks what must always hold");
  command.footer(footer());
  const auto arguments = std::make_shared<ExploreArguments>();
  add_number(command, "--seeds", arguments->config.seeds, "How many seeds");
  const terminal::Option first =
      add_seed(command, "--first", arguments->config.first_seed, "The first seed");
  const terminal::Option seed = add_seed(command, "--seed", arguments->config.first_seed,
                                         "This seed alone, unless --seeds says how many");
  seed.excludes(first);
  add_number(command, "--operations", arguments->config.operations,
             "Operations of each seed, at least; those of a client that is dead then do not begin");
  add_number(command, "--threads", arguments->config.threads,
             "Seeds that run at once; the result does not depend on it");
  add_number(command, "--twice", arguments->config.twice,
             "Every so manieth seed runs twice, to see that it does the same again; 0: none");
  add_number(command, "--hours", arguments->hours, "Go on for so long instead of --seeds");
  command.add_option("--scenario", arguments->scenario, "Run the scenario of this file instead")
      .type_name("FILE");
  command
      .add_option("--write", arguments->write,
                  "Write the scenario of the seed to this file; nothing runs")
      .type_name("FILE");
  command
      .add_option("--without", arguments->without,
                  "Guards that are off, to see what they prevent: " + guard_list())
      .type_name("GUARD");
  const terminal::Option shrink =
      add_number(command, "--shrink", arguments->shrink_seconds,
                 "How many seconds to look for a smaller scenario that fails "
                 "likewise; 0: none. That of a file "
                 "is only shrunk if this is given");
  command.add_option("--shrunk", arguments->shrunk, "Where that scenario is written")
      .type_name("FILE")
      .default_val("shrunk.scenario");
  command.add_flag("--tell", arguments->tell,
                   "Tell what happens in the scenario of the file, or of --seed");
  command.add_flag(
      "--json", arguments->json,
      "Print {seeds, violations, failing_seeds, first_failing_seed, state_hash, events, "
      "operations, virtual_s, wall_s}");
  add_exhaustive(command, arguments->exhaustive);
  command.callback([arguments, command, seed, shrink, &outcome] {
    const bool told = !arguments->scenario.empty() || arguments->tell;
    if (told && shrink.count() == 0) arguments->shrink_seconds = 0;
    const bool more = command.count("--seeds") > 0 || command.count("--hours") > 0;
    if (seed.count() > 0 && !more) arguments->config.seeds = 1;
    outcome = check_flags(command, *arguments);
    if (outcome) outcome = run(*arguments);
  });
}

}  // namespace larder::sim
