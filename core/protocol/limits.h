#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/bytes.h"
#include "core/base/time.h"

namespace larder {

// What no message may exceed. Both sides check.
inline constexpr std::size_t key_bytes_max = 1024;  // also of group and parent names
inline constexpr std::size_t pattern_bytes_max = 4096;
inline constexpr std::size_t tenant_bytes_max = 256;
inline constexpr std::size_t name_bytes_max = 256;  // nodes, hosts, racks, segments, endpoints
inline constexpr std::uint32_t replicas_max = 16;
inline constexpr std::uint32_t group_members_max = 1024;
inline constexpr std::size_t items_per_call_max = 65'536;
inline constexpr std::size_t items_per_piece = 512;  // what a driver hands to the core at once
inline constexpr Bytes object_bytes_max_default = 64_GiB;

// The time constants of the protocol (design: §4). All are settings.
struct Timing {
  Duration heartbeat = std::chrono::seconds(1);  // of nodes; keep-alive of sessions
  Duration hidden_after_silence = std::chrono::seconds(5);
  Duration hidden_after_disconnect = std::chrono::seconds(1);
  Duration node_lost = std::chrono::seconds(30);
  Duration session_lost = std::chrono::seconds(10);
  Duration recovery = std::chrono::seconds(10);
  Duration lease = std::chrono::seconds(10);
  Duration exists_lease = std::chrono::seconds(1);
  Duration wait_for_space = std::chrono::seconds(1);
  Duration fill_stalled = std::chrono::seconds(2);  // without progress
  Duration retirement_sick = std::chrono::seconds(5);
  Duration retirement_lost = std::chrono::seconds(30);
  Duration retirement_retry = std::chrono::seconds(1);
  Duration view_limit = std::chrono::seconds(10);
  Duration control_deadline = std::chrono::seconds(5);  // of one call to the master
  Duration endpoint_retry = std::chrono::seconds(1);    // a client tries a dead endpoint this often
  Duration busy_queue = std::chrono::milliseconds(500);  // placement passes over a node beyond it
  Duration stale_heartbeat = std::chrono::seconds(2);    // and over one with an older heartbeat

  // What a transfer of `size` may take, of a put from when space was assigned: 10 s + size / 50
  // MB/s.
  static constexpr Duration allowed(Bytes size) {
    return std::chrono::seconds(10) + Duration(static_cast<std::int64_t>(size.value * 20));
  }
};

// The guards of design §5, each of which a simulation can switch off to show what it alone
// prevents. Daemons run with all of them.
struct Guards {
  bool state = true;            // only COMPLETE replicas are answered
  bool lease = true;            // leased extents stay; a late reader reports failure
  bool retirement = true;       // freed extents wait until their node has retired them
  bool overlap = true;          // a node refuses a fill that overlaps its map, or of an older epoch
  bool retired_put_ids = true;  // a node refuses a fill that it has retired or ended before
  bool writer_waits = true;     // a node seals only while the writer waits
  bool footer = true;           // a one-sided reader checks the footer, a tcp read the node's map
  bool checksum = true;         // the reader compares the payload's checksum

  bool all() const {
    return state && lease && retirement && overlap && retired_put_ids && writer_waits && footer &&
           checksum;
  }
};

}  // namespace larder
