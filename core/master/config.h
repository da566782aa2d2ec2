#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/eviction/watermarks.h"
#include "core/master/effects.h"
#include "core/protocol/limits.h"

namespace larder {

struct MasterConfig {
  Timing timing;
  Guards guards;
  Watermarks watermarks;
  std::string policy = "leaf-first";
  Bytes object_bytes_max = object_bytes_max_default;
  std::uint64_t seed = 1;  // of placement's choices
  bool object_events = false;

  std::size_t sessions_max = 100'000;
  std::size_t nodes_max = 10'000;
  std::size_t waiting_puts_max = 65'536;
  std::size_t calls_per_session_max = 256;  // that change something and were not given up
  std::size_t pending_removals_max = 65'536;
  // Of one client: unfinished and not yet retired bytes beyond which its puts wait.
  double client_share_max = 0.25;  // of the pool, but at least:
  Bytes client_bytes_min = 4_GiB;
  // Of one segment: quarantined bytes beyond which nothing there is given out or evicted.
  double quarantine_share_max = 0.02;  // but at least:
  Bytes quarantine_bytes_min = 256_MiB;
};

// The same master for a run in lock step (Quiesce in core/protocol/request.h): neither a clock,
// such as a heartbeat that is late on a busy machine, nor what happens to be retired by now decides
// anything. Its driver never calls tick().
inline MasterConfig in_lock_step(MasterConfig config) {
  constexpr Duration for_ever = std::chrono::hours(24 * 365);
  config.timing.stale_heartbeat = for_ever;
  config.timing.busy_queue = for_ever;
  config.timing.hidden_after_silence = for_ever;
  config.timing.node_lost = for_ever;
  config.timing.session_lost = for_ever;
  config.timing.retirement_sick = for_ever;
  config.timing.retirement_lost = for_ever;
  config.quarantine_share_max = 1;
  return config;
}

// What a recorded master is asked to go on with, to see what would have been different. A pool in
// use cannot be changed so: nodes and clients would know nothing of it.
struct MasterChange {
  std::optional<std::string> policy;  // units stay in the order in which the old one had them
  std::optional<Duration> lease;      // of those that are granted from now on
  // Of the pool. Larger segments are larger; in a smaller pool eviction keeps so much of each free.
  double memory_factor = 1;
  bool object_events = false;
};

// What survives of earlier masters (StateRecord). Without a state directory there is none, and an
// acknowledged removal may not outlive a restart.
struct MasterState {
  bool durable = false;          // records will be found again after a restart
  Epoch recovered_epoch;         // the last epoch whose recovery ended
  std::vector<NodeKnown> known;  // neither lost nor forgotten
  std::vector<IncarnationId> lost;
};

// Who this master is. Drawn by its driver (design: §4, Ids).
struct MasterIdentity {
  Epoch epoch;
  InstanceId instance;
};

}  // namespace larder
