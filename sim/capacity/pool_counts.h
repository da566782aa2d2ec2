#pragma once

#include <array>
#include <cstdint>

#include "core/base/bytes.h"
#include "core/base/time.h"
#include "sim/kernel/instant.h"
#include "sim/serving/page_pool.h"

namespace larder::sim {

// Pages that were asked for. What is neither there nor still on its way has one reason:
// asked = came + the sum of `missed`, once every operation has ended.
struct PageCounts {
  std::uint64_t asked = 0;
  std::uint64_t came = 0;  // were there (of a lookup: as leading pages), or arrived (of a read)
  std::array<std::uint64_t, miss_reasons> missed{};

  std::uint64_t& missed_for(MissReason reason) { return missed[static_cast<std::size_t>(reason)]; }
  std::uint64_t missed_for(MissReason reason) const {
    return missed[static_cast<std::size_t>(reason)];
  }
  std::uint64_t misses() const;
  bool operator==(const PageCounts&) const = default;
};

// What became of the pages that were put.
struct PutCounts {
  std::uint64_t asked = 0;
  std::uint64_t stored = 0;
  std::uint64_t there = 0;       // already, or another put of it was under way
  std::uint64_t refused = 0;     // no room
  std::uint64_t fragmented = 0;  // room, but not in one piece
  std::uint64_t given_up = 0;    // by the engine, the master's time or a lost node
  bool operator==(const PutCounts&) const = default;
};

// The pool at one instant. Those of the first part are of the moment; the others are sums since the
// beginning, so that differences tell of a time between.
struct PoolGauges {
  Instant at{};
  Bytes capacity;     // of nodes that are shown
  Bytes used;         // allocated, not in quarantine; footers and alignment with it
  Bytes quarantined;  // freed, and not yet retired
  Bytes largest_free;
  std::uint64_t objects = 0;
  std::uint64_t waiting_puts = 0;  // objects that wait for space
  std::uint64_t master_queue = 0;
  std::uint64_t reachable_nodes = 0;
  bool master_alive = true;
  bool master_recovering = false;

  std::uint64_t evicted_objects = 0;
  Bytes evicted_bytes;  // of payload, each object once
  std::uint64_t master_requests = 0;
  std::uint64_t master_items = 0;
  std::uint64_t master_queue_longest = 0;  // so far
  Duration master_busy{0};                 // over the time: its utilization
  PageCounts lookups;
  PageCounts reads;
  PutCounts puts;
  Bytes bytes_read;  // by engines, that arrived whole
  Bytes bytes_put;   // into nodes, each replica counted

  // Of the time between two: what part of it the master's thread was busy.
  static double master_utilization(const PoolGauges& from, const PoolGauges& until);
};

}  // namespace larder::sim
