#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/base/archive.h"
#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/base/identity.h"
#include "core/space/chunked.h"
#include "core/space/length_index.h"
#include "core/space/offset_index.h"

namespace larder {

// Bytes [offset, offset + length) of a segment.
struct Range {
  Bytes offset;
  Bytes length;
  constexpr auto operator<=>(const Range&) const = default;
};

// Names an extent until it is freed. An id that outlived its extent is recognised, until its space
// has given out 2^32 more. The default one names nothing.
struct ExtentId {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
  constexpr auto operator<=>(const ExtentId&) const = default;
  constexpr explicit operator bool() const { return generation != 0; }
};

enum class ExtentState : std::uint8_t {
  used,
  quarantined,  // given up by its owner, but bytes may still move there: neither used nor free
};

// The space of one segment: hands out extents and takes them back. It knows offsets only and
// touches no byte of the segment.
//
// How. The segment is a row of ranges, free or not, each with a slot that names its neighbours; no
// two free ranges touch. Free ranges are found by their exact length (LengthIndex). A request gets
// the shortest range that holds it, at the lowest offset in there; of ranges of equal length the
// one freed last. What is left before an aligned start and behind the end stays free. So with one
// size and alignment every hole takes the next request, and nothing is lost to churn.
//
// Offsets and lengths are multiples of 64 bytes. All calls take constant time, but `take` and
// `check_invariants`. Costs 24 bytes for each extent and each free range, so 48 where pages leave
// gaps between extents, and 264 for each node of the index of lengths. The same calls give the same
// answers everywhere. Confined to one strand. A refusal changes nothing.
class Space {
 public:
  // All free. The capacity is rounded down to 64 bytes.
  explicit Space(Bytes capacity);

  // An extent of `length`, a positive multiple of 64, at a multiple of `alignment`, a power of two
  // of at least 64; else invalid_params. no_available_handle if no single free range holds it,
  // whatever the sum; it names the size, the free bytes and the largest range. With an alignment
  // above 64 a range that is less than `alignment` longer than `length` is found if it is among the
  // first `probes_max` of those, and may be missed otherwise.
  Result<ExtentId> allocate(Bytes length, std::uint64_t alignment);

  // Just this range, to restore what a node reports. invalid_params if it is empty, not in
  // multiples of 64, reaches outside or is not wholly free. O(log n), but the first one builds an
  // index of free ranges by offset, in O(n). That index is kept while it is of use, at O(log n) for
  // each allocate and free, and dropped when as many of these as would pay for the next one came
  // without a `take`. Rising offsets are several times faster than random ones.
  Result<ExtentId> take(Range range, ExtentState state = ExtentState::used);

  // used -> quarantined. invalid_params if the id is stale or the extent is in quarantine already.
  Status quarantine(ExtentId id);

  // From either state; the range is free, and one with its free neighbours, at once. invalid_params
  // if the id is stale, as after a first free.
  Status free(ExtentId id);

  // More at the end, rounded down to 64 bytes. Precondition: not less than capacity().
  void grow(Bytes capacity);

  bool valid(ExtentId id) const;
  // Precondition of both: valid(id).
  Range range(ExtentId id) const;
  ExtentState state(ExtentId id) const;

  // capacity == used + quarantined + free_bytes.
  Bytes capacity() const { return capacity_; }
  Bytes used() const { return used_; }
  Bytes quarantined() const { return quarantined_; }
  Bytes free_bytes() const { return capacity_ - used_ - quarantined_; }
  // Exact.
  Bytes largest_free() const { return Bytes{granule} * by_length_.largest(); }
  // Used and quarantined ones.
  std::size_t extents() const { return extents_; }
  // What this object needs beyond itself.
  Bytes metadata() const;

  void archive(Archive& archive);

  // Asserts all of the above by a full walk. O(n).
  void check_invariants() const;
  // What it is, apart from how it came about (core/base/identity.h). O(n).
  void add_identity(Identity& identity) const;

  static constexpr int probes_max = 16;

 private:
  enum class SlotState : std::uint8_t { vacant, edge, free, used, quarantined };
  // A range reaches to the offset of the one after it. Slot 0 is the edge: it stands behind the
  // last range and before the first, at offset `capacity`, and is never free.
  class Slot {
   public:
    Slot() = default;
    Slot(std::uint64_t offset, SlotState state)
        : offset_and_state_(offset | std::uint64_t(state)) {}
    std::uint64_t offset() const { return offset_and_state_ & ~state_bits; }
    SlotState state() const { return SlotState(offset_and_state_ & state_bits); }
    void set_state(SlotState state) { offset_and_state_ = offset() | std::uint64_t(state); }

   private:
    static constexpr std::uint64_t state_bits = 63;  // offsets are multiples of 64
    std::uint64_t offset_and_state_ = 0;

   public:
    std::uint32_t before = 0;  // neighbours in the segment
    std::uint32_t after = 0;
    union {
      std::uint32_t generation = 0;  // of an extent
      std::uint32_t list_before;     // of a free range: those of equal length
    };
    std::uint32_t list_after = 0;  // of a free range; of a vacant slot
  };
  static_assert(sizeof(Slot) == 24);
  static constexpr std::uint64_t granule = 64;  // bytes
  static constexpr std::uint32_t none = LengthIndex::none;
  static constexpr std::uint32_t edge = 0;

  std::uint64_t end_of(std::uint32_t slot) const { return slots_[slots_[slot].after].offset(); }
  Bytes length_of(std::uint32_t slot) const { return {end_of(slot) - slots_[slot].offset()}; }
  std::uint64_t granules_of(std::uint32_t slot) const { return length_of(slot) / Bytes{granule}; }
  bool is_free(std::uint32_t slot) const { return slots_[slot].state() == SlotState::free; }
  bool fits(std::uint32_t slot, Bytes length, std::uint64_t alignment) const;
  std::uint32_t find_fit(Bytes length, std::uint64_t alignment) const;
  Status check(ExtentId id, const char* wish) const;
  Bytes& total_of(SlotState state);

  ExtentId carve(std::uint32_t slot, Range range, ExtentState state);
  std::uint32_t insert_after(std::uint32_t slot, std::uint64_t offset);
  void remove(std::uint32_t slot);
  void list_free(std::uint32_t slot);
  void unlist_free(std::uint32_t slot);
  void build_offset_index();
  bool load_lengths(Archive& archive);
  void age_offset_index();

  Bytes capacity_;
  Bytes used_;
  Bytes quarantined_;
  std::size_t extents_ = 0;
  Chunked<Slot> slots_;
  std::uint32_t vacant_ = none;
  std::uint32_t generation_ = 0;          // of the newest extent
  LengthIndex by_length_;                 // in granules -> the first of a list of free slots
  std::optional<OffsetIndex> by_offset_;  // of all free ranges, while extents are being restored
  std::size_t calls_since_take_ = 0;
};

}  // namespace larder
