#include "core/eviction/s3_fifo.h"

#include <algorithm>

#include "core/base/assert.h"

namespace larder {
namespace {

constexpr std::size_t small_share = 10;  // one in so many
constexpr std::uint8_t uses_to_move = 2;
constexpr std::uint8_t turns_max = 3;

std::uint8_t turns_left(const Evictable& unit) {
  return static_cast<std::uint8_t>(std::min(unit.uses, turns_max) - 1);
}

}  // namespace

void S3FifoPolicy::admit(Evictable& unit, const Evictable*) {
  if (departed_.take(names().identity(unit))) unit.line = Evictable::Line::second;
}

void S3FifoPolicy::link(Evictable& unit) {
  Queue& queue = queue_of(unit);
  queue.units.push_back(unit);
  ++queue.size;
}

void S3FifoPolicy::unlink(Evictable& unit) {
  Queue& queue = queue_of(unit);
  queue.units.remove(unit);
  --queue.size;
}

Evictable* S3FifoPolicy::next(std::uint32_t& looks) {
  while (Evictable* const unit = next_queue().units.front()) {
    if (unit->uses < (unit->line == Evictable::Line::first ? uses_to_move : 1)) return unit;
    if (looks == 0) return nullptr;
    --looks;
    unlink(*unit);
    // From the small queue it begins anew in the main one.
    const bool moves = unit->line == Evictable::Line::first;
    unit->uses = moves ? std::uint8_t{0} : turns_left(*unit);
    unit->line = Evictable::Line::second;
    join(*unit);
  }
  return nullptr;
}

S3FifoPolicy::Queue& S3FifoPolicy::next_queue() {
  const bool small_is_full = small_.size * small_share >= small_.size + main_.size;
  return small_is_full || main_.size == 0 ? small_ : main_;
}

void S3FifoPolicy::left(Evictable& unit, bool was_front) {
  if (was_front) departed_.remember(names().identity(unit), unit.uses, size());
}

void S3FifoPolicy::append_line(std::vector<Evictable*>& units) const {
  small_.units.append_to(units);
  main_.units.append_to(units);
}

void S3FifoPolicy::add_rest(Identity& identity) const {
  add_uses(identity);
  departed_.add_identity(identity);
}

void S3FifoPolicy::check_line() const {
  for (const Queue* queue : {&small_, &main_}) {
    queue->units.check_order();
    std::vector<Evictable*> units;
    queue->units.append_to(units);
    LARDER_ASSERT(units.size() == queue->size);
    const auto line = queue == &small_ ? Evictable::Line::first : Evictable::Line::second;
    for (const Evictable* unit : units) LARDER_ASSERT(unit->line == line);
  }
}

}  // namespace larder
