#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "core/base/time.h"
#include "core/node/effects.h"
#include "core/protocol/footer.h"
#include "core/protocol/object.h"

// What a node knows of its extents: one compact record for each, in address order (design: B18,
// "bytes of metadata per key are bounded").

namespace larder {

// An ObjectRecord that owns its texts, in one allocation. Instants instead of durations.
class StoredRecord {
 public:
  // Precondition: the texts keep the bounds of limits.h.
  StoredRecord(Time now, const ObjectRecord& record);

  Bytes size() const { return size_; }
  std::string_view tenant() const { return text(0); }
  std::string_view key() const { return text(1); }
  // With what is left of pin and time to live at `now`; an end that has passed is 1 ns away, since
  // zero would mean none.
  ObjectRecord at(Time now) const;

 private:
  std::string_view text(std::size_t index) const;

  std::unique_ptr<char[]> texts_;
  std::array<std::uint16_t, 4> lengths_;  // tenant, key, group, parent
  Bytes size_;
  Time soft_pin_until_;  // Time::min(): none
  Time expires_;         // time_never: no end
  bool hard_pin_;
};

enum class FillState : std::uint8_t { filling, sealed, retiring };

struct Extent {
  StoredRecord record;
  std::uint64_t checksum = 0;
  Time sealed_at = Time::min();   // min: never sealed
  Time read_until = Time::min();  // no read that began so far lasts longer
  FillId fill;                    // of `filling`, or of what a retirement still waits for
  std::uint32_t reads = 0;        // in flight
  FillState state = FillState::filling;
  bool has_checksum = false;
  bool held_told = false;  // waits to be named in a confirmation as held

  Bytes length() const { return footer_offset(record.size()) + footer_size; }
};

// The put id is part of the order only for runs without the overlap guard, where several may share
// an offset.
struct ExtentKey {
  Bytes offset;
  PutId put_id;
  auto operator<=>(const ExtentKey&) const = default;
};
using ExtentMap = std::map<ExtentKey, Extent>;

struct NodeSegment {
  SegmentId id;
  std::string name;
  SegmentKind kind = SegmentKind::memory;
  Bytes size;  // a multiple of 64
  std::int32_t numa_node = -1;
};

struct StoredSegment {
  NodeSegment info;
  ExtentMap extents;

  // An extent that shares a byte with [offset, offset + length). O(log extents).
  const ExtentMap::value_type* overlapping(Bytes offset, Bytes length) const;
};

// One extent in its segment. Stays valid until the extent is erased.
struct ExtentPlace {
  StoredSegment* segment = nullptr;
  ExtentMap::iterator at;

  Extent& extent() const { return at->second; }
  ReplicaLocation location() const { return {segment->info.id, at->first.offset}; }
  ExtentName name() const { return {at->first.put_id, location()}; }
  ReplicaLocation footer() const {
    return {segment->info.id, at->first.offset + footer_offset(extent().record.size())};
  }
};

}  // namespace larder
