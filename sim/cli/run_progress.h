#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "sim/cli/trace_arguments.h"
#include "terminal/progress.h"

namespace larder::sim {

// The progress of one run on stderr, with the time that is left.
class RunProgress {
 public:
  RunProgress(const TraceArguments& trace, std::uint64_t requests_max);
  void show(std::uint64_t ended);

 private:
  terminal::ProgressBar bar_;
  std::optional<std::uint64_t> expected_;
  std::chrono::steady_clock::time_point begin_;
};

// "3.1 s left", as far as `share` of the work took since `begin`.
std::string time_left(std::chrono::steady_clock::time_point begin, double share);

}  // namespace larder::sim
