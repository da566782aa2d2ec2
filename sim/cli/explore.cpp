#include "sim/explore/explore.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/cli/commands.h"
#include "terminal/arguments.h"
#include "terminal/output.h"

namespace larder::sim {
namespace {

using nlohmann::ordered_json;
using terminal::add_number;
using terminal::print;
using terminal::with_thousands;

struct ExploreArguments {
  ExploreConfig config;
  bool json = false;
};

double in_seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

ordered_json to_json(const ExploreResult& result, double wall_s) {
  ordered_json json{{"seeds", result.seeds}, {"violations", result.violations}};
  json["first_failing_seed"] =
      result.first_failing ? ordered_json(result.first_failing->seed) : ordered_json();
  json["state_hash"] = fmt::format("{:016x}", result.state_hash);
  json["events"] = result.events;
  json["operations"] = result.operations;
  json["virtual_s"] = in_seconds(result.virtual_time);
  json["wall_s"] = wall_s;
  return json;
}

std::string to_text(const ExploreResult& result, double wall_s) {
  std::string text = fmt::format(
      "{} seeds, {} operations ({} values put, {} read whole), {} events\n"
      "{:.0f} s of virtual time in {:.1f} s; state hash {:016x}\n",
      with_thousands(result.seeds), with_thousands(result.operations),
      with_thousands(result.puts_ok), with_thousands(result.gets_ok), with_thousands(result.events),
      in_seconds(result.virtual_time), wall_s, result.state_hash);
  if (!result.first_failing) return text + "no violation\n";
  const SeedResult& seed = *result.first_failing;
  text += fmt::format("{} seeds with violations; the first is {} (faults: {}):\n",
                      with_thousands(result.violations), seed.seed, seed.faults);
  for (const Violation& violation : seed.violations) {
    text += fmt::format("  {:>12.6f} s  {}: {}\n", in_seconds(violation.when - Instant{}),
                        to_string(violation.invariant), violation.what);
  }
  text += fmt::format("again: larder-sim explore --first {} --seeds 1\n", seed.seed);
  return text;
}

Status run(const ExploreArguments& arguments) {
  const bool shows_progress = !arguments.json && isatty(STDERR_FILENO) == 1;
  const auto begin = std::chrono::steady_clock::now();
  const ExploreResult result = explore(arguments.config, [&](std::uint64_t done) {
    if (shows_progress && (done % 8 == 0 || done == arguments.config.seeds)) {
      fmt::print(stderr, "\r{} of {} seeds", done, arguments.config.seeds);
    }
  });
  if (shows_progress) fmt::print(stderr, "\r\033[K");
  const double wall_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  LARDER_CHECK(
      print(arguments.json ? to_json(result, wall_s).dump() + "\n" : to_text(result, wall_s)));
  if (!result.first_failing) return {};
  return failed(ErrorCode::internal_error,
                fmt::format("{} of {} seeds broke an invariant", result.violations, result.seeds));
}

}  // namespace

void add_explore(CLI::App& app, Status& outcome) {
  CLI::App* command = app.add_subcommand(
      "explore",
      "Runs random pools under random faults and checks what must always hold: a get that reports\n"
      "success returned exactly the bytes of one put of its key, an acknowledged removal stays,\n"
      "and once the faults stop every operation ends and no space is lost. Each seed is a world "
      "of\n"
      "its own and draws its own subset of faults: message loss, duplication, reordering, delay,\n"
      "crashes of clients, nodes and the master, stopped processes, partitions, clock drift.\n"
      "Example: larder-sim explore --seeds 1000 --threads 2");
  const auto arguments = std::make_shared<ExploreArguments>();
  add_number(*command, "--seeds", arguments->config.seeds, "How many seeds");
  add_number(*command, "--first", arguments->config.first_seed, "The first seed");
  add_number(*command, "--operations", arguments->config.operations, "Operations of each seed");
  add_number(*command, "--threads", arguments->config.threads,
             "Seeds that run at once; the result does not depend on it");
  command->add_flag("--json", arguments->json,
                    "Print {seeds, violations, first_failing_seed, state_hash, events, operations, "
                    "virtual_s, wall_s}");
  command->callback([arguments, &outcome] { outcome = run(*arguments); });
}

}  // namespace larder::sim
