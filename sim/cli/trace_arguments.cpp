#include "sim/cli/trace_arguments.h"

#include <CLI/CLI.hpp>

#include "terminal/arguments.h"

namespace larder::sim {

Result<std::unique_ptr<workloads::TraceReader>> TraceArguments::open() const {
  return workloads::open_trace(
      paths, {.format = workloads::format_named(format), .block_tokens = block_tokens});
}

void add_trace_arguments(CLI::App& command, TraceArguments& arguments) {
  command
      .add_option("TRACE", arguments.paths,
                  "A Mooncake trace (JSONL, one request a line), or agentic sessions (JSON): any "
                  "number of files, or a directory of them")
      ->required();
  command
      .add_option("--format", arguments.format,
                  "mooncake or agentic; without it, the content of the file decides")
      ->check(CLI::IsMember({"mooncake", "agentic"}));
  terminal::add_number(command, "--block-size", arguments.block_tokens,
                       "Tokens in a block of a Mooncake trace, which does not say it itself");
}

}  // namespace larder::sim
