#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "sim/planning/run.h"
#include "sim/planning/spread.h"

namespace larder::sim {

// Which trace a run was of.
struct TraceName {
  std::vector<std::string> paths;
  std::string format;  // empty: found out
  std::uint32_t block_tokens = 512;
  bool operator==(const TraceName&) const = default;
};

// Whether a file may say so of a trace. Errors: bad_file.
Status check_trace_format(const std::string& place, const std::string& format);

// run.json: all of a run but what is of single requests and links; docs/planning.md has its schema.
// `spread`: of the run's setting over seeds, that of the run among them. The same input gives the
// same text. Ends with a line end.
std::string run_json(const Run& run, const TraceName& trace, const Spread& spread = {});

// What is needed to make the run again, and what it came to, as far as runs are compared.
struct RunSummary {
  Setting setting;
  TraceName trace;
  std::uint64_t requests = 0;
  std::uint64_t pages = 0;
  std::uint64_t hits = 0;
  std::uint64_t state_hash = 0;
};
// Errors: bad_file, with the place. A version that is not ours is one.
Result<RunSummary> read_run(std::string_view text);

}  // namespace larder::sim
