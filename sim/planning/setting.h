#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/eviction/watermarks.h"
#include "core/topology/hardware.h"
#include "proto/calibration/calibration.h"
#include "sim/calibration/call_costs.h"
#include "sim/capacity/pool_config.h"
#include "sim/fabric/fabric.h"
#include "sim/planning/planned_fault.h"
#include "sim/serving/cached_engine.h"
#include "sim/serving/models/gpu.h"
#include "sim/serving/models/model.h"
#include "sim/serving/router.h"

namespace larder::sim {

// One deployment and how it is loaded: all that decides what a run comes to, beside the trace.
// `cluster`, `model`, `gpu` and `costs` are names, presets or files; the values that they stand for
// are in `hardware`, `model_numbers` and `calibrated`, which whoever reads files fills in
// (sim/cli/setting_arguments.h).
struct Setting {
  // Machines.
  std::string cluster = "8xh800-8x200";
  std::uint32_t hosts = 0;  // 0: as many as the cluster has; else it must be of one kind of host

  // Engines.
  std::string model = "llama-3.1-70b";
  std::string gpu = "auto";  // as the cluster or its hosts say in their names
  KvType kv_type = KvType::fp16;
  std::uint32_t engines = 8;
  std::uint32_t gpus_per_engine = 8;
  double gpu_speed = 1;           // they compute and read so many times as fast
  double gpu_memory_share = 0.9;  // for weights and KV
  Bytes host_memory{1ull << 40};  // of one engine: its cache in the memory of its host
  std::uint32_t page_tokens = 0;  // 0: as the trace's blocks
  CachedEngineConfig engine;      // but page_tokens and host_memory
  RouterPolicy router = RouterPolicy::prefix_aware;
  bool serving = true;  // false: engines without caches, for which computing takes no time

  // The pool.
  std::uint32_t nodes = 8;
  std::optional<Bytes> memory_per_node{Bytes{512ull << 30}};  // nothing: without limit
  std::uint32_t replicas = 1;
  std::string policy = "leaf-first";
  Watermarks watermarks;
  Duration lease = std::chrono::seconds(10);
  double master_speed = 1;  // what it does takes so much less time
  std::string costs;        // of a calibration, a name as `cluster` is; empty: the defaults
  CostsAt costs_at = CostsAt::value;
  std::uint32_t batch_pages = 16;
  std::uint32_t batches = 2;

  // The network. Without a fabric bytes take no time.
  bool fabric = true;
  Move::Transport transport = Move::Transport::verbs;
  // Fewer than in production: over these NICs it changes nothing that is seen, and takes a half of
  // the time or less (docs/simulator.md).
  std::uint32_t stripes_max = 4;

  // The load.
  bool closed = false;         // loop: by sessions and think times
  std::uint32_t sessions = 0;  // of a closed loop, at once; 0: as in the trace
  double speed = 1;
  Duration every{0};               // above 0: requests come so long after each other
  std::uint64_t requests_max = 0;  // 0: all
  std::uint64_t warmup_requests = 0;
  std::vector<PlannedFault> faults;
  std::uint64_t seed = 1;
  std::uint32_t intervals = 256;  // of time in the report, at most

  Hardware hardware;
  Model model_numbers;
  std::optional<CalibratedCosts> calibrated;  // what `costs` or the cluster stands for
  std::string calibrated_file;                // that they were in, to be named to people

  // Whether the numbers can be, as far as that is seen without a trace: INVALID_PARAMS, which names
  // the parameter by its name as a flag, and the numbers.
  Status check() const;
  // The GPU that `gpu` stands for. Errors: invalid_params.
  Result<Gpu> gpu_numbers() const;
  // The hardware with `hosts` applied, and with what the bytes take over TCP by `calibrated`.
  Result<Hardware> machines() const;
  // What the pool's processes take: by `calibrated`, or by default. Errors: invalid_params, where
  // nothing was calibrated over TCP.
  Result<PoolCosts> process_costs() const;
};

// Of one page: K and V, or one object where the model keeps both as one (MLA).
std::vector<Bytes> objects_of_page(const Model& model, KvType type, std::uint32_t page_tokens);

// What a node has that is without limit, which is not held against the memory of its host: the most
// that a master takes of one.
inline constexpr Bytes unlimited_node = node_bytes_max;

}  // namespace larder::sim
