#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "workloads/trace.h"

namespace CLI {
class App;
}

namespace larder::sim {

// What every command that reads a trace takes: TRACE..., --format and --block-size.
struct TraceArguments {
  std::vector<std::filesystem::path> paths;
  std::string format;  // empty: found out
  std::uint32_t block_tokens = 512;

  Result<std::unique_ptr<workloads::TraceReader>> open() const;
};

// The arguments outlive `command`.
void add_trace_arguments(CLI::App& command, TraceArguments& arguments);

}  // namespace larder::sim
