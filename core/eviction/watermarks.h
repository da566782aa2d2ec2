#pragma once

#include "core/base/bytes.h"
#include "core/base/error.h"

namespace larder {

// Shares of a pool's capacity. Above `high` eviction begins, and it goes on down to `low`. Puts
// live off the gap while evicted extents are being retired, which takes a round trip to each node:
// 5 % of a 1 TiB pool is one second of puts at 50 GB/s, and less gap would mean more, smaller
// rounds.
struct Watermarks {
  double high = 0.95;
  double low = 0.90;

  // INVALID_PARAMS unless 0 <= low <= high <= 1.
  Status check() const;
};

struct SpaceUse {
  Bytes capacity;
  Bytes allocated;    // quarantined ones included
  Bytes quarantined;  // evicted or removed, but not yet retired: as good as free to a watermark
  Bytes waiting;      // what puts that found no space are waiting for
};

// How much eviction must free now; zero if nothing. With puts waiting it is at least what they need
// beyond the quarantined bytes, so that a pool that is fragmented below its high watermark still
// moves.
Bytes bytes_to_free(const Watermarks& marks, const SpaceUse& use);

}  // namespace larder
