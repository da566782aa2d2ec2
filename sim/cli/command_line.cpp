#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <iostream>

#include "core/base/printable.h"
#include "sim/cli/commands.h"
#include "terminal/command.h"
#include "terminal/command_line.h"
#include "terminal/version.h"

namespace larder::sim {
namespace {

constexpr int could_not_be_done = 1;
constexpr int wrong_usage = 2;

int exit_code(const Status& outcome) {
  if (outcome) return 0;
  const Error& error = outcome.error();
  std::cerr << "larder-sim: " << error.message() << '\n';
  return error.code() == ErrorCode::invalid_params ? wrong_usage : could_not_be_done;
}

}  // namespace

int run_command_line(int argc, const char* const* argv) {
  terminal::hold_standard_streams();
  CLI::App app(
      "Simulates a Larder pool: the code that decides is that of the real one.\n"
      "Each command has a --help with an example.",
      "larder-sim");
  app.require_subcommand(1);
  app.set_version_flag("--version", terminal::version_text("larder-sim"));
  const terminal::Command command(app);
  Status outcome;
  add_trace(command, outcome);
  add_hit_rate(command, outcome);
  add_policies(command, outcome);
  add_replay(command, outcome);
  add_explain(command, outcome);
  add_sweep(command, outcome);
  add_plan(command, outcome);
  add_explore(command, outcome);
  add_ablation(command, outcome);
  add_story(command, outcome);
  add_lockstep(command, outcome);
  add_compare(command, outcome);
  add_incident(command, outcome);
  add_hardware(command, outcome);
  add_budget(command, outcome);
  add_report(command, outcome);
  add_validate(command, outcome);
  try {
    app.parse(argc, argv);
    return exit_code(outcome);
  } catch (const CLI::RuntimeError& error) {
    return error.get_exit_code();  // of a command that has said why
  } catch (const CLI::ParseError& error) {
    return terminal::report(app, error);
  } catch (const std::exception& error) {
    std::cerr << "larder-sim: " << printable(error.what()) << '\n';
    return could_not_be_done;
  }
}

}  // namespace larder::sim
