#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/error.h"
#include "core/base/id.h"
#include "core/protocol/object.h"

// What a writer tells a node when it asks it to fill extents (design: §4, Put).

namespace larder {

// One extent to fill. The payload follows, or is fetched, as the transport does it.
struct FillItem {
  PutId put_id;
  ReplicaLocation location;
  ObjectRecord record;
  Bytes part_offset;  // a fill may come in parts, in order, without gaps
  Bytes part_length;  // whole fills: 0 and record.size
  std::optional<std::uint64_t>
      checksum;  // of the whole payload, as the writer made it; with the last part
  bool last_part = true;
};

}  // namespace larder
