#include "sim/cli/trace_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sim/planning/run_file.h"
#include "terminal/arguments.h"
#include "terminal/command.h"

namespace larder::sim {

Result<std::unique_ptr<workloads::TraceReader>> TraceArguments::open() const {
  return workloads::open_trace(
      paths, {.format = workloads::format_named(format), .block_tokens = block_tokens});
}

TraceName TraceArguments::trace_name() const {
  TraceName trace{.format = format, .block_tokens = block_tokens};
  for (const std::filesystem::path& path : paths) trace.paths.push_back(path.string());
  return trace;
}

TraceArguments TraceArguments::of(const TraceName& trace) {
  return {.paths = {trace.paths.begin(), trace.paths.end()},
          .format = trace.format,
          .block_tokens = trace.block_tokens};
}

std::string TraceArguments::name() const {
  constexpr std::size_t names_max = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(paths.size(), names_max); ++i) {
    const std::filesystem::path path = paths[i].lexically_normal();
    text += (i == 0 ? "" : ", ") +
            (path.has_filename() ? path.filename() : path.parent_path().filename()).string();
  }
  if (paths.size() > names_max) {
    text += fmt::format(" and {} more", paths.size() - names_max);
  }
  return text;
}

std::optional<std::uint64_t> TraceArguments::count_requests(std::uint64_t at_most) const {
  const auto can_be_read_again = [](const std::filesystem::path& path) {
    std::error_code error;
    return std::filesystem::is_regular_file(path, error) ||
           std::filesystem::is_directory(path, error);
  };
  if (!std::ranges::all_of(paths, can_be_read_again)) return std::nullopt;
  const auto reader = open();
  if (!reader) return std::nullopt;
  std::uint64_t count = 0;
  for (; count < at_most; ++count) {
    const auto next = (*reader)->next();
    if (!next) return std::nullopt;
    if (*next == nullptr) break;
  }
  return count;
}

void add_trace_arguments(terminal::Command command, TraceArguments& arguments) {
  command
      .add_option("TRACE", arguments.paths,
                  "A Mooncake trace (JSONL, one request a line), or agentic sessions (JSON): any "
                  "number of files, or a directory of them")
      .required();
  command
      .add_option("--format", arguments.format,
                  "mooncake or agentic; without it, the content of the file decides")
      .one_of({"mooncake", "agentic"});
  terminal::add_number(command, "--block-size", arguments.block_tokens,
                       "Tokens in a block of a Mooncake trace, which does not say it itself");
}

}  // namespace larder::sim
