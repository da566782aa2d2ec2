#include "core/eviction/lru.h"

#include "core/base/assert.h"

namespace larder {

void LruPolicy::insert(Evictable& unit, const Evictable*) {
  LARDER_ASSERT(!unit.in_policy);
  unit.in_policy = true;
  unit.stamp = ++stamp_;
  list_.push_back(unit);
  ++size_;
}

void LruPolicy::access(Evictable& unit) {
  LARDER_ASSERT(unit.in_policy);
  unit.stamp = ++stamp_;
  list_.remove(unit);
  list_.push_back(unit);
}

void LruPolicy::erase(Evictable& unit) {
  LARDER_ASSERT(unit.in_policy);
  unit.in_policy = false;
  list_.remove(unit);
  --size_;
}

void LruPolicy::archive(Archive& archive, const UnitNames&) { archive(stamp_); }

void LruPolicy::restore(std::span<Evictable* const> units) {
  for (Evictable* unit : units) list_.push_back(*unit);
  size_ = units.size();
}

void LruPolicy::check_invariants() const { list_.check_order(size_, stamp_); }

}  // namespace larder
