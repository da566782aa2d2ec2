#include "core/eviction/eviction_round.h"

#include <algorithm>

#include "core/base/assert.h"

namespace larder {

std::string_view to_string(SkipReason reason) {
  switch (reason) {
    case SkipReason::leased:
      return "leased";
    case SkipReason::exists_lease:
      return "exists_lease";
    case SkipReason::pinned:
      return "pinned";
    case SkipReason::busy:
      return "busy";
    case SkipReason::not_complete:
      return "not_complete";
    case SkipReason::quarantine:
      return "quarantine";
    case SkipReason::sick:
      return "sick";
    case SkipReason::last:
      return "last";
  }
  return "unknown";
}

EvictionCounts& EvictionCounts::operator+=(const EvictionCounts& other) {
  units += other.units;
  objects += other.objects;
  groups += other.groups;
  bytes += other.bytes;
  for (std::size_t i = 0; i < skip_reasons; ++i) skipped[i] += other.skipped[i];
  return *this;
}

EvictionRound::EvictionRound(EvictionOrder& order) {
  order.normal().begin_round();
  order.soft_pinned().begin_round();
}

EvictionRound::Progress EvictionRound::step(EvictionOrder& order, Step step, Evictor& evictor) {
  bool wanted_waits = false;
  Bytes goal = step.goal;
  for (std::uint32_t looks = step.looks_max;; --looks) {
    const Bytes promised = wanted_waits ? order.wanted_bytes() : Bytes{};
    if (goal <= promised) return Progress::enough;
    Evictable* const unit = next(order, wanted_waits, looks);
    if (looks == 0) return Progress::more;
    if (unit == nullptr) return Progress::exhausted;

    const std::optional<SkipReason> reason = evictor.held_by(*unit);
    if (!reason) {
      goal -= std::min(goal, unit->bytes);
      evict(order, *unit, evictor);
      continue;
    }
    if (reason == SkipReason::exists_lease && order.is_wanted(*unit)) {
      wanted_waits = true;
      continue;
    }
    ++counts_.skipped_for(*reason);
    if (reason == SkipReason::quarantine) return Progress::blocked;
    if (reason == SkipReason::exists_lease) {
      order.want(*unit);
    } else {
      order.defer(*unit);
    }
  }
}

Evictable* EvictionRound::next(EvictionOrder& order, bool wanted_waits, std::uint32_t& looks) {
  Evictable* const wanted = order.first_wanted();
  if (wanted != nullptr && !wanted_waits) return wanted;
  Evictable* const normal = order.normal().victim(looks);
  if (normal != nullptr || looks == 0) return normal;
  return order.soft_pinned().victim(looks);
}

void EvictionRound::evict(EvictionOrder& order, Evictable& unit, Evictor& evictor) {
  const Bytes bytes = unit.bytes;
  const std::size_t size = order.size();
  const Evictor::Taken taken = evictor.evict(unit);
  LARDER_ASSERT(order.size() < size, "an evicted unit must leave the order");
  ++counts_.units;
  counts_.objects += taken.objects;
  counts_.groups += taken.group ? 1 : 0;
  counts_.bytes += bytes;
}

}  // namespace larder
