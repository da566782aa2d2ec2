#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <iostream>

#include "core/base/printable.h"
#include "sim/cli/commands.h"
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
  Status outcome;
  add_trace(app, outcome);
  add_hit_rate(app, outcome);
  add_policies(app, outcome);
  add_replay(app, outcome);
  add_explain(app, outcome);
  add_sweep(app, outcome);
  add_plan(app, outcome);
  add_explore(app, outcome);
  add_ablation(app, outcome);
  add_story(app, outcome);
  add_lockstep(app, outcome);
  add_compare(app, outcome);
  add_incident(app, outcome);
  add_hardware(app, outcome);
  add_budget(app, outcome);
  add_report(app, outcome);
  add_validate(app, outcome);
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
