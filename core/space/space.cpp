#include "core/space/space.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <utility>

#include "core/base/assert.h"

namespace larder {
namespace {

std::string text(Range range) {
  return "[" + std::to_string(range.offset.value) + ", +" + std::to_string(range.length.value) +
         ")";
}

}  // namespace

Space::Space(Bytes capacity) : capacity_(capacity.rounded_down(granule)) {
  slots_.grow() = Slot(capacity_.value, SlotState::edge);
  if (capacity_ == 0_B) return;
  list_free(insert_after(edge, 0));
}

Result<ExtentId> Space::allocate(Bytes length, std::uint64_t alignment) {
  if (length.value == 0 || length.value % granule != 0) {
    return failed(ErrorCode::invalid_params, "an extent of " + std::to_string(length.value) +
                                                 " bytes: not a positive multiple of 64");
  }
  if (!std::has_single_bit(alignment) || alignment < granule) {
    return failed(ErrorCode::invalid_params,
                  "alignment " + std::to_string(alignment) + ": not a power of two of at least 64");
  }
  const std::uint32_t slot = find_fit(length, alignment);
  if (slot == none) {
    return failed(ErrorCode::no_available_handle,
                  "no free range holds " + std::to_string(length.value) + " bytes aligned to " +
                      std::to_string(alignment) + ": " + std::to_string(free_bytes().value) +
                      " free, the largest range " + std::to_string(largest_free().value));
  }
  age_offset_index();
  const Bytes start = Bytes{slots_[slot].offset()}.rounded_up(alignment);
  return carve(slot, {.offset = start, .length = length}, ExtentState::used);
}

bool Space::fits(std::uint32_t slot, Bytes length, std::uint64_t alignment) const {
  const Bytes offset{slots_[slot].offset()};
  const Bytes end{end_of(slot)};
  const Bytes start = offset.rounded_up(alignment);
  return start >= offset && start <= end && end - start >= length;  // the first: no overflow
}

std::uint32_t Space::find_fit(Bytes length, std::uint64_t alignment) const {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  // From this length on a range holds the request wherever it begins.
  const std::uint64_t slack = alignment - granule;
  const std::uint64_t sure = (length.value > most - slack ? most : length.value + slack) / granule;
  int probes = probes_max;
  auto entry = by_length_.at_least(length.value / granule);
  while (entry && entry->key < sure && probes > 0) {
    for (std::uint32_t slot = entry->value; slot != none && probes > 0; --probes) {
      if (fits(slot, length, alignment)) return slot;
      slot = slots_[slot].list_after;
    }
    entry = by_length_.at_least(entry->key + 1);
  }
  if (entry && entry->key < sure) entry = by_length_.at_least(sure);
  return entry ? entry->value : none;
}

Result<ExtentId> Space::take(Range range, ExtentState state) {
  const bool whole = range.offset.value % granule == 0 && range.length.value % granule == 0;
  if (range.length == 0_B || !whole) {
    return failed(ErrorCode::invalid_params,
                  "range " + text(range) + " is empty or not in multiples of 64");
  }
  if (range.offset > capacity_ || range.length > capacity_ - range.offset) {
    return failed(ErrorCode::invalid_params, "range " + text(range) + " reaches outside of " +
                                                 std::to_string(capacity_.value) + " bytes");
  }
  if (!by_offset_) build_offset_index();
  calls_since_take_ = 0;
  const auto slot = by_offset_->floor(range.offset.value);
  if (!slot || end_of(*slot) < (range.offset + range.length).value) {
    return failed(ErrorCode::invalid_params, "range " + text(range) + " is not wholly free");
  }
  return carve(*slot, range, state);
}

Status Space::quarantine(ExtentId id) {
  LARDER_CHECK(check(id, "quarantine"));
  Slot& slot = slots_[id.slot];
  if (slot.state() == SlotState::quarantined) {
    return failed(ErrorCode::invalid_params, "quarantine: extent " + std::to_string(id.slot) + "." +
                                                 std::to_string(id.generation) +
                                                 " is in quarantine already");
  }
  const Bytes length = length_of(id.slot);
  used_ -= length;
  quarantined_ += length;
  slot.set_state(SlotState::quarantined);
  return {};
}

Status Space::free(ExtentId id) {
  LARDER_CHECK(check(id, "free"));
  age_offset_index();
  std::uint32_t slot = id.slot;
  total_of(slots_[slot].state()) -= length_of(slot);
  --extents_;
  if (const std::uint32_t before = slots_[slot].before; is_free(before)) {
    unlist_free(before);
    remove(slot);
    slot = before;
  } else if (by_offset_) {
    by_offset_->insert(slots_[slot].offset(), slot);
  }
  if (const std::uint32_t after = slots_[slot].after; is_free(after)) {
    unlist_free(after);
    if (by_offset_) by_offset_->erase(slots_[after].offset());
    remove(after);
  }
  list_free(slot);
  return {};
}

void Space::grow(Bytes capacity) {
  const Bytes old = std::exchange(capacity_, capacity.rounded_down(granule));
  LARDER_ASSERT(capacity_ >= old, "a space does not shrink");
  if (capacity_ == old) return;
  const std::uint32_t last = slots_[edge].before;
  const bool extends = last != edge && is_free(last);
  if (extends) unlist_free(last);
  const auto [before, after] = std::pair(slots_[edge].before, slots_[edge].after);
  slots_[edge] = Slot(capacity_.value, SlotState::edge);
  slots_[edge].before = before;
  slots_[edge].after = after;
  const std::uint32_t slot = extends ? last : insert_after(last, old.value);
  if (by_offset_ && !extends) by_offset_->insert(old.value, slot);
  list_free(slot);
}

bool Space::valid(ExtentId id) const {
  if (id.slot >= slots_.size()) return false;
  const Slot& slot = slots_[id.slot];
  return (slot.state() == SlotState::used || slot.state() == SlotState::quarantined) &&
         slot.generation == id.generation;
}

Range Space::range(ExtentId id) const {
  LARDER_ASSERT(valid(id));
  return {.offset = {slots_[id.slot].offset()}, .length = length_of(id.slot)};
}

ExtentState Space::state(ExtentId id) const {
  LARDER_ASSERT(valid(id));
  return slots_[id.slot].state() == SlotState::used ? ExtentState::used : ExtentState::quarantined;
}

Bytes Space::metadata() const {
  return {slots_.size() * sizeof(Slot) + by_length_.memory() +
          (by_offset_ ? by_offset_->memory() : 0)};
}

Status Space::check(ExtentId id, const char* wish) const {
  if (valid(id)) return {};
  return failed(ErrorCode::invalid_params, std::string(wish) + ": extent " +
                                               std::to_string(id.slot) + "." +
                                               std::to_string(id.generation) +
                                               " is not there: never given out, or freed before");
}

Bytes& Space::total_of(SlotState state) { return state == SlotState::used ? used_ : quarantined_; }

// Makes `range` of a free slot an extent; what is left on both sides stays free.
ExtentId Space::carve(std::uint32_t slot, Range range, ExtentState state) {
  LARDER_ASSERT(is_free(slot));
  const std::uint64_t end = end_of(slot);
  const std::uint64_t range_end = (range.offset + range.length).value;
  LARDER_ASSERT(slots_[slot].offset() <= range.offset.value && range_end <= end);
  unlist_free(slot);
  if (slots_[slot].offset() < range.offset.value) {
    const std::uint32_t extent = insert_after(slot, range.offset.value);
    list_free(slot);
    slot = extent;
  } else if (by_offset_) {
    by_offset_->erase(range.offset.value);
  }
  if (range_end < end) {
    const std::uint32_t rest = insert_after(slot, range_end);
    list_free(rest);
    if (by_offset_) by_offset_->insert(range_end, rest);
  }
  slots_[slot].set_state(state == ExtentState::used ? SlotState::used : SlotState::quarantined);
  if (++generation_ == 0) generation_ = 1;
  slots_[slot].generation = generation_;
  total_of(slots_[slot].state()) += range.length;
  ++extents_;
  return {.slot = slot, .generation = generation_};
}

// Splits the range of `slot`: a new slot, without a state yet, has it from `offset` on.
std::uint32_t Space::insert_after(std::uint32_t slot, std::uint64_t offset) {
  std::uint32_t made = vacant_;
  if (made == none) {
    made = static_cast<std::uint32_t>(slots_.size());
    LARDER_ASSERT(made != none);
    slots_.grow();
  } else {
    vacant_ = slots_[made].list_after;
  }
  const std::uint32_t after = slots_[slot].after;
  slots_[made] = Slot(offset, SlotState::vacant);
  slots_[made].before = slot;
  slots_[made].after = after;
  slots_[slot].after = made;
  slots_[after].before = made;
  return made;
}

// Gives the range of `slot` to the one before it.
void Space::remove(std::uint32_t slot) {
  const auto [before, after] = std::pair(slots_[slot].before, slots_[slot].after);
  slots_[before].after = after;
  slots_[after].before = before;
  slots_[slot].set_state(SlotState::vacant);
  slots_[slot].list_after = vacant_;
  vacant_ = slot;
}

void Space::list_free(std::uint32_t slot) {
  const std::uint32_t next = by_length_.exchange(granules_of(slot), slot);
  slots_[slot].set_state(SlotState::free);
  slots_[slot].list_before = none;
  slots_[slot].list_after = next;
  if (next != none) slots_[next].list_before = slot;
}

// Call it before the range changes.
void Space::unlist_free(std::uint32_t slot) {
  const auto [before, after] = std::pair(slots_[slot].list_before, slots_[slot].list_after);
  if (after != none) slots_[after].list_before = before;
  if (before != none) {
    slots_[before].list_after = after;
  } else if (after != none) {
    by_length_.exchange(granules_of(slot), after);
  } else {
    by_length_.erase(granules_of(slot));
  }
}

void Space::build_offset_index() {
  by_offset_.emplace();
  for (std::uint32_t slot = slots_[edge].after; slot != edge; slot = slots_[slot].after) {
    if (is_free(slot)) by_offset_->insert(slots_[slot].offset(), slot);
  }
}

void Space::age_offset_index() {
  if (by_offset_ && ++calls_since_take_ > slots_.size()) by_offset_.reset();
}

// The index of lengths is found again in the slots: a range that leads those of its length stands
// behind none.
void Space::archive(Archive& archive) {
  archive(capacity_, used_, quarantined_, extents_, vacant_, generation_);
  const std::size_t slots = archive.count(slots_.size());
  if (archive.loading()) slots_ = {};
  for (std::size_t i = 0; i < slots; ++i) {
    if (archive.loading()) slots_.grow();
    archive.raw(slots_[i]);
  }
  if (!archive.loading()) return;
  by_length_ = {};
  by_offset_.reset();
  calls_since_take_ = 0;
  if (!load_lengths(archive)) *this = Space(0_B);
}

bool Space::load_lengths(Archive& archive) {
  const auto known = [&](std::uint32_t slot) { return slot < slots_.size(); };
  if (!archive.require(slots_.size() > 0 && (vacant_ == none || known(vacant_)),
                       "a space is empty")) {
    return false;
  }
  for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
    const Slot& s = slots_[slot];
    if (!archive.require(known(s.before) && known(s.after), "a range has no neighbour"))
      return false;
    const bool listed = s.state() == SlotState::free || s.state() == SlotState::vacant;
    if (!archive.require(!listed || s.list_after == none || known(s.list_after),
                         "a list of ranges has no end")) {
      return false;
    }
  }
  for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
    if (!is_free(slot) || slots_[slot].list_before != none) continue;
    if (!archive.require(end_of(slot) > slots_[slot].offset(), "a range is empty")) return false;
    by_length_.exchange(granules_of(slot), slot);
  }
  return true;
}

void Space::check_invariants() const {
  Bytes used, quarantined, largest;
  std::size_t extents = 0, free_ranges = 0, vacant = 0;
  std::uint64_t offset = 0;
  std::uint32_t before = edge;
  for (std::uint32_t slot = slots_[edge].after; slot != edge; slot = slots_[slot].after) {
    const Slot& s = slots_[slot];
    const Bytes length = length_of(slot);
    LARDER_ASSERT(s.before == before && s.offset() == offset);
    LARDER_ASSERT(length > 0_B && length.value % granule == 0);
    if (s.state() == SlotState::free) {
      LARDER_ASSERT(!is_free(before));
      const auto entry = by_length_.at_least(granules_of(slot));
      LARDER_ASSERT(entry && entry->key == granules_of(slot));
      LARDER_ASSERT((entry->value == slot) == (s.list_before == none));
      LARDER_ASSERT(s.list_before == none || slots_[s.list_before].list_after == slot);
      LARDER_ASSERT(s.list_after == none ||
                    (is_free(s.list_after) && slots_[s.list_after].list_before == slot &&
                     length_of(s.list_after) == length));
      LARDER_ASSERT(!by_offset_ || by_offset_->floor(s.offset()) == slot);
      largest = std::max(largest, length);
      ++free_ranges;
    } else {
      LARDER_ASSERT(s.state() == SlotState::used || s.state() == SlotState::quarantined);
      (s.state() == SlotState::used ? used : quarantined) += length;
      ++extents;
    }
    offset += length.value;
    before = slot;
  }
  for (std::uint32_t slot = vacant_; slot != none; slot = slots_[slot].list_after) {
    LARDER_ASSERT(slots_[slot].state() == SlotState::vacant);
    ++vacant;
  }
  std::size_t listed = 0;
  for (auto entry = by_length_.at_least(1); entry; entry = by_length_.at_least(entry->key + 1)) {
    for (auto slot = entry->value; slot != none; slot = slots_[slot].list_after) ++listed;
  }
  LARDER_ASSERT(slots_[edge].state() == SlotState::edge && slots_[edge].before == before);
  LARDER_ASSERT(offset == capacity_.value && slots_[edge].offset() == offset);
  LARDER_ASSERT(1 + extents + free_ranges + vacant == slots_.size());
  LARDER_ASSERT(listed == free_ranges && (!by_offset_ || by_offset_->size() == free_ranges));
  LARDER_ASSERT(used == used_ && quarantined == quarantined_ && extents == extents_);
  LARDER_ASSERT(largest == largest_free());
}

}  // namespace larder
