#include "sim/explore/ablation.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/cli/commands.h"
#include "sim/cli/seed_argument.h"
#include "sim/explore/guard_names.h"
#include "terminal/arguments.h"
#include "terminal/command.h"
#include "terminal/output.h"
#include "terminal/progress.h"

namespace larder::sim {
namespace {

using nlohmann::ordered_json;
using terminal::add_number;

struct AblationArguments {
  AblationConfig config;
  bool json = false;
};

ordered_json to_json(const WrongReads& wrong) {
  return {{"wrong_reads", wrong.reads}, {"seeds", wrong.seeds}};
}

ordered_json to_json(const AblationResult& result, double wall_s) {
  ordered_json json{{"seeds", result.seeds}, {"off", ordered_json::array()}};
  for (const Ablated& each : result.all) {
    ordered_json row{{"guards", ordered_json::array()},   {"wrong_reads", each.wrong.reads},
                     {"seeds", each.wrong.seeds},         {"other_seeds", each.other_seeds},
                     {"beyond_both", each.beyond_both},   {"explained", each.explained},
                     {"by_fault", ordered_json::object()}};
    for (const std::size_t guard : each.off) row["guards"].push_back(guard_names()[guard].name);
    for (const auto& [fault, wrong] : each.by_fault) row["by_fault"][fault] = to_json(wrong);
    json["off"].push_back(std::move(row));
  }
  json["redundant"] = ordered_json::array();
  for (const std::size_t guard : result.redundant()) {
    json["redundant"].push_back(guard_names()[guard].name);
  }
  json["wall_s"] = wall_s;
  return json;
}

Status run(const AblationArguments& arguments) {
  const AblationConfig& config = arguments.config;
  if (config.seeds == 0 || config.operations == 0 || config.threads == 0) {
    return failed(ErrorCode::invalid_params,
                  "--seeds, --operations and --threads must be at least 1: nothing would be seen");
  }
  const auto begin = std::chrono::steady_clock::now();
  terminal::ProgressBar progress({.title = "ablation", .enabled = !arguments.json});
  const AblationResult result = ablate(config, [&](double done) {
    progress.show(done, terminal::with_thousands(config.seeds) + " seeds for each of 37");
    return true;
  });
  const double wall_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  LARDER_CHECK(terminal::print(arguments.json
                                   ? to_json(result, wall_s).dump() + "\n"
                                   : to_markdown(result) + fmt::format("\n{:.0f} s\n", wall_s)));
  if (result.of({}).wrong.seeds == 0) return {};
  return failed(ErrorCode::internal_error, "reads are wrong although all guards are on");
}

}  // namespace

void add_ablation(terminal::Command app, Status& outcome) {
  const terminal::Command command = app.add_subcommand(
      "ablation", "Shows what each guard prevents: with it off, how many reads are wrong?");
  command.footer(
      "The worlds of explore, with all guards on, with each off alone and each two off: which "
      "reads\n"
      "are wrong then (bytes that are not one put of the key, or one that was replaced before), "
      "which\n"
      "faults it takes, and what one guard stops of what another one lets through.\n"
      "Guards: " +
      guard_list() + "\nExample: larder-sim ablation --seeds 300 --threads 2");
  const auto arguments = std::make_shared<AblationArguments>();
  add_number(command, "--seeds", arguments->config.seeds, "How many seeds, for each of the 37");
  add_seed(command, "--first,--seed", arguments->config.first_seed, "The first seed");
  add_number(command, "--operations", arguments->config.operations,
             "Operations of each seed, at least");
  add_number(command, "--threads", arguments->config.threads,
             "Seeds that run at once; the result does not depend on it");
  add_number(
      command, "--explain", arguments->config.explained,
      "Of the seeds that read wrong, of how many with each guards off to find what it takes");
  command.add_flag("--json", arguments->json,
                   "Print {seeds, off: [{guards, wrong_reads, seeds, other_seeds, beyond_both, "
                   "explained, by_fault}], redundant, wall_s}");
  command.callback([arguments, &outcome] { outcome = run(*arguments); });
}

}  // namespace larder::sim
