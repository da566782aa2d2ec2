#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "terminal/command.h"
#include "workloads/trace.h"

namespace larder::sim {

struct TraceName;

// What every command that reads a trace takes: TRACE..., --format and --block-size.
struct TraceArguments {
  std::vector<std::filesystem::path> paths;
  std::string format;  // empty: found out
  std::uint32_t block_tokens = 512;

  Result<std::unique_ptr<workloads::TraceReader>> open() const;
  // As files of runs have it.
  TraceName trace_name() const;
  static TraceArguments of(const TraceName& trace);
  // "a.json, b.json", without their directories.
  std::string name() const;
  // How many requests there are, up to `at_most`, for progress bars; nothing for what can be read
  // only once or is broken, which the run itself will tell.
  std::optional<std::uint64_t> count_requests(std::uint64_t at_most) const;
};

// The arguments outlive `command`.
void add_trace_arguments(terminal::Command command, TraceArguments& arguments);

}  // namespace larder::sim
