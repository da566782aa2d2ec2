#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/archive.h"
#include "core/base/error.h"
#include "core/space/space.h"

namespace larder {

// The life of one stored copy (design: §4).
enum class ReplicaState : std::uint8_t {
  initialized,  // asked for, no space yet
  processing,   // space assigned, being filled
  complete,     // readable
  removed,      // was complete; its extent waits for its retirement
  failed,       // was never complete; its extent, if it has one, waits for its retirement
  gone,         // the extent is free again
};

enum class ReplicaEvent : std::uint8_t {
  assign_space,
  put_end,
  take_up,    // a new master finds it sealed in a node's report
  take_away,  // evicted, removed, expired, replaced, reported bad or unmounted
  give_up,    // revoked, timed out, taken over, its writer lost, not sealed, or no space in time
  node_lost,  // its incarnation will never come back
  retire,     // its node has confirmed the retirement
};

std::string_view to_string(ReplicaState state);
std::string_view to_string(ReplicaEvent event);

// The one table of legal transitions. INVALID_REPLICA, naming state and event, for any other.
Result<ReplicaState> next_state(ReplicaState state, ReplicaEvent event);

using SegmentIndex = std::uint32_t;  // a master's own short name of a segment
inline constexpr SegmentIndex no_segment = 0xffffffff;

struct Replica {
  SegmentIndex segment = no_segment;
  ExtentId extent;
  ReplicaState state = ReplicaState::initialized;
  std::uint16_t confirmed_by = 0;  // the registration of its node (low bits) that last named it
  Bytes offset;

  // Every change of state goes through here; an illegal one is a broken invariant of the caller.
  void advance(ReplicaEvent event);
};
inline void archive_parts(Archive& archive, Replica& replica) {
  archive(replica.segment, replica.extent, replica.state, replica.confirmed_by, replica.offset);
}
static_assert(sizeof(Replica) == 24, "it is part of the bytes that each key costs the master");

}  // namespace larder
