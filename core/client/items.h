#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/id.h"
#include "core/base/slice.h"
#include "core/base/time.h"

// What is put and got, and what comes of it: the values of core/client/client.h. They point at the
// caller's keys and bytes, which must live until the call has ended.

namespace larder {

struct PutItem {
  std::string_view key;
  std::span<const ConstSlice> value;  // the slices in order are the value; never copied together
  std::uint32_t replicas = 1;         // 1 to replicas_max
  std::string_view group;             // objects that live and die together; empty: none
  std::string_view parent;            // the key or group that this one extends; empty: none
  Duration soft_pin{0};
  Duration time_to_live{0};  // zero: no end
  bool hard_pin = false;
};

// A value that comes in parts.
struct PutInParts {
  PutItem item;  // without a value
  Bytes size;
};

struct PutOptions {
  bool upsert = false;  // a new version beside the old one, which is readable until the swap
  std::span<const SegmentId> preferred;  // placed there first while they have room
};

struct PutOutcome {
  PutId put_id;                 // none if already stored
  std::uint32_t replicas = 0;   // sealed and published: 1 to what was asked for
  bool already_stored = false;  // the key was there, whole; its bytes are unchanged
};

struct GetItem {
  std::string_view key;
  // Whole get: in all at least the object's size, of which only the first `size` bytes are written.
  // Ranged get: exactly what is wanted. May be dirty after a failure: only the result says whether
  // the bytes may be used.
  std::span<const Slice> into;
  std::optional<Bytes> range_offset = std::nullopt;  // set: a ranged get, from here in the payload
};

struct GetOptions {
  bool looked_up = false;  // lookup() has counted this get already
};

struct GetOutcome {
  PutId put_id;                    // whose bytes these are
  Bytes size;                      // written into the slices
  bool checksum_verified = false;  // false for a range, and where writer or reader has them off
  std::optional<std::uint64_t> checksum = {};  // XXH3-64 of the whole value; none: none was made
};

struct ObjectSummary {
  PutId put_id;
  Bytes size;
  std::uint32_t replicas = 0;
};

struct RemoveOptions {
  bool force = false;  // also while leased
};

// What a walk over the pool is to find.
struct ListQuery {
  std::string_view prefix;
  std::string_view pattern;  // a regular expression in RE2's syntax, found anywhere; empty: all
};

}  // namespace larder
