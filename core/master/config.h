#pragma once

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
  std::string policy = "lru";
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
