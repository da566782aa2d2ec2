#include "core/eviction/eviction_order.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/assert.h"

namespace larder {

Result<EvictionOrder> EvictionOrder::make(std::string_view policy) {
  LARDER_TRY(auto normal, make_policy(policy));
  LARDER_TRY(auto soft_pinned, make_policy(policy));
  return EvictionOrder(std::move(normal), std::move(soft_pinned));
}

EvictionOrder::EvictionOrder(std::unique_ptr<EvictionPolicy> normal,
                             std::unique_ptr<EvictionPolicy> soft_pinned)
    : normal_(std::move(normal)),
      soft_pinned_(std::move(soft_pinned)),
      wanted_(std::make_unique<UnitList>()) {}

const Evictable* EvictionOrder::parent(const Evictable& unit) const {
  if (unit.place == Place::none || unit.place == Place::wanted) return nullptr;
  return (unit.place == Place::normal ? normal_ : soft_pinned_)->parent(unit);
}

EvictionPolicy& EvictionOrder::policy_of(const Evictable& unit) {
  LARDER_ASSERT(unit.place == Place::normal || unit.place == Place::soft_pinned);
  return unit.place == Place::normal ? *normal_ : *soft_pinned_;
}

void EvictionOrder::enter(Evictable& unit, const Evictable* parent) {
  const Place place = unit.soft_pinned ? Place::soft_pinned : Place::normal;
  // A unit that names itself is in no place yet, so it is a root too.
  if (parent != nullptr && parent->place != place) parent = nullptr;
  unit.place = place;
  policy_of(unit).insert(unit, parent);
}

void EvictionOrder::leave(Evictable& unit) {
  LARDER_ASSERT(contains(unit));
  if (unit.place == Place::wanted) {
    wanted_->remove(unit);
    --wanted_size_;
    wanted_bytes_ -= unit.bytes;
  } else {
    policy_of(unit).erase(unit);
  }
  unit.place = Place::none;
}

void EvictionOrder::insert(Evictable& unit, Insertion how) {
  LARDER_ASSERT(!contains(unit));
  unit.soft_pinned = how.soft_pinned;
  enter(unit, how.parent);
  bytes_ += unit.bytes;
}

void EvictionOrder::access(Evictable& unit) {
  if (unit.place != Place::wanted) return policy_of(unit).access(unit);
  leave(unit);
  enter(unit, nullptr);
}

void EvictionOrder::erase(Evictable& unit) {
  leave(unit);
  bytes_ -= unit.bytes;
}

void EvictionOrder::defer(Evictable& unit) {
  if (unit.place != Place::wanted) return policy_of(unit).defer(unit);
  leave(unit);
  enter(unit, nullptr);
}

void EvictionOrder::want(Evictable& unit) {
  LARDER_ASSERT(unit.place != Place::wanted);
  leave(unit);
  unit.place = Place::wanted;
  wanted_->push_back(unit);
  ++wanted_size_;
  wanted_bytes_ += unit.bytes;
}

void EvictionOrder::set_soft_pinned(Evictable& unit, bool soft_pinned) {
  LARDER_ASSERT(contains(unit));
  if (unit.soft_pinned == soft_pinned) return;
  leave(unit);
  unit.soft_pinned = soft_pinned;
  enter(unit, nullptr);
}

void EvictionOrder::resize(Evictable& unit, Bytes bytes) {
  LARDER_ASSERT(contains(unit));
  bytes_ += bytes;
  bytes_ -= unit.bytes;
  if (unit.place == Place::wanted) {
    wanted_bytes_ += bytes;
    wanted_bytes_ -= unit.bytes;
  }
  unit.bytes = bytes;
}

// The wanted ones stand in an order of their own.
void EvictionOrder::archive(Archive& archive, const UnitNames& names) {
  archive(bytes_, wanted_bytes_);
  normal_->archive(archive, names);
  soft_pinned_->archive(archive, names);
  std::vector<std::uint32_t> wanted;
  wanted_->for_each([&](const Evictable& unit) { wanted.push_back(names.name(unit)); });
  archive(wanted);
  if (!archive.loading()) return;
  for (const std::uint32_t name : wanted) {
    Evictable* const unit = names.find(name);
    if (!archive.require(unit != nullptr && unit->place == Place::wanted, "a unit is not wanted")) {
      return;
    }
    wanted_->push_back(*unit);
    ++wanted_size_;
  }
}

void EvictionOrder::restore(std::vector<Evictable*> units) {
  std::ranges::sort(units, {}, &Evictable::stamp);
  std::vector<Evictable*> of_place;
  for (const Place place : {Place::normal, Place::soft_pinned}) {
    of_place.clear();
    std::ranges::copy_if(units, std::back_inserter(of_place),
                         [&](const Evictable* unit) { return unit->place == place; });
    (place == Place::normal ? normal_ : soft_pinned_)->restore(of_place);
  }
}

void EvictionOrder::check_invariants() const {
  normal_->check_invariants();
  soft_pinned_->check_invariants();
  std::size_t size = 0;
  Bytes bytes;
  wanted_->for_each([&](const Evictable& unit) {
    LARDER_ASSERT(unit.place == Place::wanted && !unit.in_policy);
    ++size;
    bytes += unit.bytes;
  });
  LARDER_ASSERT(size == wanted_size_);
  LARDER_ASSERT(bytes == wanted_bytes_);
  LARDER_ASSERT(wanted_bytes_ <= bytes_);
}

}  // namespace larder
