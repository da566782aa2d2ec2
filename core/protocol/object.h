#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/id.h"
#include "core/base/time.h"

namespace larder {

// What a node needs to know of an object that it stores, so that a master without memory can
// rebuild its directory from the nodes (design: §5). Views: valid as long as the message that
// carries them.
struct ObjectRecord {
  std::string_view tenant;
  std::string_view key;
  std::string_view group;    // empty: none
  std::string_view parent;   // the key or group that this one extends; empty: none
  Bytes size;                // of the payload
  Duration soft_pin{0};      // zero: none; what is left of it
  Duration time_to_live{0};  // zero: no end; what is left of it
  bool hard_pin = false;
};

// Where one replica lies. The segment's id names its node's incarnation too (SegmentDescription).
struct ReplicaLocation {
  SegmentId segment;
  Bytes offset;
  auto operator<=>(const ReplicaLocation&) const = default;
};
using ReplicaLocations = boost::container::small_vector<ReplicaLocation, 2>;

// One stored copy, of one put. What retirements, confirmations and inventories name.
struct ExtentName {
  PutId put_id;
  ReplicaLocation location;
  auto operator<=>(const ExtentName&) const = default;
};

// Where a walk over the caller's objects stands; made by a master for ListObjects of its own epoch.
struct ListCursor {
  Epoch epoch;             // none: from the begin
  std::uint32_t next = 0;  // places of the directory
  std::uint32_t end = 0;
  bool operator==(const ListCursor&) const = default;
};

enum class SegmentKind : std::uint8_t { memory = 0, file = 1 };

// A segment as its node offers it; the same for the whole life of its id.
struct SegmentDescription {
  SegmentId id;
  IncarnationId incarnation;  // of the node that owns it
  std::string name;
  SegmentKind kind = SegmentKind::memory;
  Bytes size;
  std::int32_t numa_node = -1;  // -1: not known
  std::string node;             // the node's name
  std::string endpoint;         // where its bytes are asked for
  std::string host;             // machines with equal names here are one failure domain
  std::string rack;
  bool operator==(const SegmentDescription&) const = default;
};

}  // namespace larder
