#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/histogram.h"
#include "core/topology/topology.h"
#include "sim/planning/link_use.h"
#include "sim/planning/placement.h"
#include "sim/planning/pool_curve.h"
#include "sim/planning/setting.h"
#include "sim/planning/timeline.h"
#include "sim/serving/serving.h"
#include "workloads/trace.h"

namespace larder::sim {

// What follows from a setting and the trace's blocks.
struct Sizes {
  std::uint32_t block_tokens = 0;  // of the trace
  std::uint32_t page_tokens = 0;
  std::vector<Bytes> objects;    // of one page
  Bytes page_bytes;              // once, without footers and rounding
  Bytes page_room;               // what one takes of the pool: with them, and all replicas
  Bytes pool_bytes;              // of all nodes
  std::uint64_t pool_pages = 0;  // that fit at most, with their replicas
  // Of one engine; 0 without serving, and as sizes_of() gives them.
  std::uint64_t gpu_pages = 0;
  std::uint64_t host_pages = 0;
};

// Errors, invalid_params: pages that are no multiple of the blocks.
Result<Sizes> sizes_of(const Setting& setting, std::uint32_t trace_block_tokens);

// GPU time that prompts were spared: what all hits saved beyond those before them, for each request
// as if its prompt were computed alone in one pass. Engine time times GPUs.
struct SavedTime {
  Duration gpu{0};
  Duration host{0};
  Duration pool{0};
};

// All that a run came to.
struct Run {
  Setting setting;
  Topology topology;
  Placement placement;
  Sizes sizes;

  ServingTotals totals;  // without the warm-up; arrived and ended with it
  Pressure pressure;
  // Without the warm-up. Quantiles of it are within 1/32.
  Histogram ttft;
  Duration ttft_sum{0};
  std::optional<SavedTime> saved;  // nothing where the engines have no GPUs
  struct EngineUse {
    std::uint64_t requests = 0;
    Engine::Busy busy;
  };
  std::vector<EngineUse> engines;

  Duration time{0};  // of the whole run, virtual
  Duration interval{0};
  std::vector<Interval> intervals;
  LinkRecord links;
  PoolGauges pool;                 // at the end
  std::optional<PoolCurve> curve;  // where it was wished for
  std::uint64_t state_hash = 0;
  std::vector<std::string> notes;  // what a reader of the numbers should know, in sentences

  std::optional<double> ttft_mean_s() const;
  // Nothing where no first token came.
  std::optional<double> ttft_s(double quantile) const;
};

// Sees a run from inside; must call nothing of it. This one does not look.
class RunWatcher {
 public:
  virtual ~RunWatcher() = default;
  // Each request once, in the order in which they end.
  virtual void ended(const ServedRequest& /*request*/) {}
  // Now and then. False: the run is given up.
  virtual bool go_on(std::uint64_t /*requests_ended*/, Duration /*virtual_time*/) { return true; }
};

// What takes time or memory of its own.
struct RunWishes {
  bool pool_curve = false;
};

// Simulates the deployment under the trace, to the end of its last request. The same setting and
// trace give the same run, to the bit. Memory grows with what the pool and the caches hold and with
// the distinct pages of the trace (PageBook), not with its requests (but in a closed loop, and by
// what PoolCurveRecorder says).
//
// Errors: INVALID_PARAMS for what cannot be (Setting::check, place, a model that does not fit its
// GPUs, pages that do not fit the trace's blocks, faults of what is not there, an empty trace or
// one that is all warm-up); those of the trace, when the reader comes to them; CANCELLED where the
// watcher gave it up.
Result<Run> run(const Setting& setting, workloads::TraceReader& trace, RunWatcher& watcher,
                RunWishes wishes = {});

}  // namespace larder::sim
