#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>

#include "core/base/printable.h"
#include "real/cli/commands.h"
#include "terminal/command.h"
#include "terminal/command_line.h"
#include "terminal/version.h"

namespace larder::real {
namespace {

constexpr int could_not_be_done = 1;
constexpr int wrong_usage = 2;
constexpr int superseded = 3;

int exit_code(const Status& outcome) {
  if (outcome) return 0;
  const Error& error = outcome.error();
  std::cerr << "larder: " << error.message() << '\n';
  switch (error.code()) {
    case ErrorCode::invalid_params:
    case ErrorCode::invalid_key:
      return wrong_usage;
    case ErrorCode::epoch_superseded:
      return superseded;
    default:
      return could_not_be_done;
  }
}

}  // namespace

int run_command_line(int argc, const char* const* argv) {
  terminal::hold_standard_streams();
  CLI::App app(
      "Larder: a shared pool for the KV cache of LLM inference.\n"
      "Start a pool on this machine, put something in and take it out again:\n"
      "  larder up &\n"
      "  echo hello | larder put greeting\n"
      "  larder get greeting\n"
      "Each command has a --help with an example.",
      "larder");
  app.require_subcommand(1);
  app.set_version_flag("--version", terminal::version_text("larder"));
  app.footer("Exit codes: 0 done, 1 it could not be done, 2 wrong usage, 3 a newer master leads.");
  const terminal::Command command(app);
  Status outcome;
  add_servers(command, outcome);
  add_config(command, outcome);
  add_doctor(command, outcome);
  add_put(command, outcome);
  add_get(command, outcome);
  add_exists(command, outcome);
  add_rm(command, outcome);
  add_ls(command, outcome);
  add_stat(command, outcome);
  add_status(command, outcome);
  add_bench(command, outcome);
  add_calibrate(command, outcome);
  add_replay(command, outcome);
  try {
    app.parse(argc, argv);
    return exit_code(outcome);
  } catch (const CLI::ParseError& error) {
    return terminal::report(app, error);
  } catch (const std::exception& error) {
    std::cerr << "larder: " << printable(error.what()) << '\n';
    return could_not_be_done;
  }
}

}  // namespace larder::real
