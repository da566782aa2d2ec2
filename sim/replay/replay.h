#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "workloads/lockstep/lockstep.h"
#include "workloads/lockstep/record.h"
#include "workloads/trace.h"

namespace larder::sim {

// The pool that serves a trace.
struct ReplayConfig {
  std::size_t nodes = 2;
  Bytes memory = 16_MiB;  // of each node, in one segment
  Bytes page_bytes = 32_KiB;
  std::string policy = "leaf-first";
  std::uint64_t seed = 1;  // of the master, as a real one is given it, and of the simulated world
  std::uint64_t requests_max = ~std::uint64_t{0};  // the warm-up included
  std::uint64_t warmup_requests = 0;               // served first, and not counted
  // True: pages are bytes, which are moved and compared. False: only their sizes are, which takes
  // neither the memory nor the time, and decides the same.
  bool verify = true;
};

inline constexpr std::size_t replay_nodes_max = 1000;

// Serves the trace in lock step (workloads/lockstep/lockstep.h) from a simulated pool: one master,
// the nodes, mounted one after the other, and one client. Each has a machine of its own, whose name
// is that of all others, as processes of one machine have it. The same arguments give the same
// record, to the state hash; its wall_s and trace are the caller's to fill in.
//
// `progress` sees the totals after each request and may end the run by returning false.
//
// Errors: invalid_params for a configuration that makes no sense; otherwise as run_in_lockstep.
Result<workloads::LockstepRecord> replay(workloads::TraceReader& trace, const ReplayConfig& config,
                                         const workloads::LockstepProgress& progress);

}  // namespace larder::sim
