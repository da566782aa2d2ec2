#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/client/client.h"
#include "core/ports/task.h"
#include "workloads/trace.h"

namespace larder::workloads {

// Serves a trace from a pool in lock step: one request after the other, and the master works on its
// own only inside `quiesce`, so that time decides nothing. The same trace then leads to the same
// decisions in a real pool and in a simulated one with the same nodes, sizes and seed.
//
// For each request the pages of its blocks are read in one call; those up to the first miss are
// hits (a page is one object, named by its block). What was read is compared with what was written,
// byte by byte. The missing pages are put, each naming the one before it as its parent, in calls of
// at most what the master says that it can place without anyone waiting for space, with a `quiesce`
// after each. Every request ends with one, which gives the leases back.
struct LockstepConfig {
  Bytes page_bytes = 32_KiB;
  std::uint64_t requests_max = ~std::uint64_t{0};  // the warm-up included
  std::uint64_t warmup_requests = 0;               // served first, and not counted
  Duration stop_after = Duration::max();           // by the client's clock: no request starts later
  // False, for simulations of capacity alone, where nobody looks at bytes: they are neither made
  // nor compared, and the client's slices are addresses that must not be touched.
  bool content = true;
};

// Of all requests but those of the warm-up.
struct LockstepTotals {
  std::uint64_t warmup_requests = 0;
  std::uint64_t requests = 0;
  std::uint64_t pages = 0;
  std::uint64_t page_hits = 0;
  std::uint64_t tokens = 0;
  std::uint64_t tokens_hit = 0;
  std::uint64_t puts = 0;
  std::uint64_t evictions = 0;
  Bytes bytes_read;
  Bytes bytes_written;
  Duration trace_time{0};  // from the first to the last arrival, the warm-up included
  // Of all decisions in order, those of the warm-up too: the hits of each request, each put, the
  // victims of each quiesce.
  std::uint64_t decision_digest = 0;
};

// One call after each request, with the totals so far: in the warm-up, only their number. Returning
// false stops the run.
using LockstepProgress = std::function<bool(const LockstepTotals&)>;

// Errors: invalid_params where the warm-up leaves no request to count; of the trace, and any of the
// client's but a miss. Bytes that differ are checksum_mismatch. The client and the trace must live
// until the task has ended.
Task<Result<LockstepTotals>> run_in_lockstep(Client& client, const Clock& clock, TraceReader& trace,
                                             LockstepConfig config, LockstepProgress progress);

}  // namespace larder::workloads
