#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <vector>

#include "core/base/error.h"
#include "workloads/input_file.h"
#include "workloads/trace.h"

namespace larder::workloads {

// Recorded sessions of coding agents, in the format of kv-cache-tester: one JSON object a file,
// with `block_size` and `requests`. A request has `t` (seconds since its agent began), `in` and
// `out` (tokens), `hash_ids`, and often `think_time` (seconds from the answer before it). An entry
// of type "subagent" holds the `requests` of an agent that this one started.
//
// Several files are several sessions, all of which begin at time 0; their requests are merged by
// arrival, and ties keep the order of the files and of the requests in them. Files are read whole.
//
// Rules that the published files follow, and that we hold every file to; a broken one is an error
// with the place in the file, such as requests[5].hash_ids[2]:
// - hash_ids has floor(in / block_size) entries: only full blocks have an id.
// - `t` of a sub-agent is when it *ended*: it began at t - duration_ms / 1000, and the times of its
//   requests count from there. (Agents that were started together have the same such begin, and
//   their parent goes on after the last end.)
// - `t` never decreases from one request of an agent to its next. Sub-agents run beside it.
// - times are numbers, not negative, within 292 years; a token count is a whole number of at most
//   request_tokens_max; an id is a whole number below 2^64, without fraction or exponent.
// - hash_id_scope is "local", or is left out and then means the same: an id says something only
//   within its file.
// - all files of one trace have the same block_size.
// - sub-agents nest at most 8 deep; a file is at most 64 MiB and has at least one request.
// Fields that are not named here are ignored.
//
// As ids are local to a file, the reader numbers them anew: 0, 1, 2 ... in the order in which the
// files, one after the other, first name them. So ids of two files never meet, not even those of a
// system prompt that the sessions had in common.
inline constexpr std::size_t agentic_file_bytes_max = std::size_t{64} << 20;

// Precondition: at least one file.
Result<std::unique_ptr<TraceReader>> read_agentic(std::vector<InputFile> files);

}  // namespace larder::workloads
