#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/error.h"
#include "workloads/trace.h"

namespace larder::workloads {

// Of a list of whole numbers. A percentile is by nearest rank: the smallest value that at least
// that share of the list does not exceed.
struct LengthSummary {
  std::uint64_t p50 = 0;
  std::uint64_t p90 = 0;
  std::uint64_t max = 0;
  bool operator==(const LengthSummary&) const = default;
};

// The blocks that were used from `uses_min` to `uses_max` times.
struct ReuseBucket {
  std::uint64_t uses_min = 0;
  std::uint64_t uses_max = 0;
  std::uint64_t blocks = 0;
  bool operator==(const ReuseBucket&) const = default;
};

// What a trace holds, and what a pool without limits would make of it: empty at first, nothing
// excluded as warm-up, each request's blocks looked up and inserted one after the other, outputs
// not inserted.
struct TraceStatistics {
  std::uint64_t requests = 0;
  std::uint64_t sessions = 0;  // 0 where the trace does not tell them
  std::uint64_t agents = 0;    // of all sessions
  Duration first_arrival{0};
  Duration last_arrival{0};
  std::uint64_t distinct_timestamps = 0;

  std::uint64_t input_tokens = 0;
  std::uint64_t output_tokens = 0;
  std::uint64_t block_accesses = 0;
  std::uint64_t unique_blocks = 0;

  std::uint64_t block_hits = 0;          // blocks that were there
  std::uint64_t leading_block_hits = 0;  // ... and all before them in the request, which is usable
  std::uint64_t leading_token_hits = 0;  // the input tokens in those

  // Accesses to a block behind another one than at its first: zero in a true prefix tree, which
  // also has no block twice in one request.
  std::uint64_t trie_violations = 0;

  // By powers of two: once, twice, 3 to 4, 5 to 8 ...; up to the largest count there is.
  std::vector<ReuseBucket> reuse;

  // None where there are no requests.
  std::optional<LengthSummary> input_lengths;
  std::optional<LengthSummary> output_lengths;
  std::optional<LengthSummary> blocks_per_request;
};

// hits / total, or nothing where the total is 0: no data is not a ratio of 0.
std::optional<double> ratio(std::uint64_t hits, std::uint64_t total);

// Reads the trace to its end. Memory: about 40 bytes for each unique block.
Result<TraceStatistics> trace_statistics(TraceReader& reader);

}  // namespace larder::workloads
