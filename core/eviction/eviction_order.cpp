#include "core/eviction/eviction_order.h"

#include <algorithm>
#include <utility>

#include "core/base/assert.h"

namespace larder {

using Line = Evictable::Line;

Result<EvictionOrder> EvictionOrder::make(std::string_view policy, const UnitNames& names) {
  LARDER_TRY(auto normal, make_policy(policy, names));
  LARDER_TRY(auto soft_pinned, make_policy(policy, names));
  return EvictionOrder(std::move(normal), std::move(soft_pinned), names);
}

EvictionOrder::EvictionOrder(std::unique_ptr<EvictionPolicy> normal,
                             std::unique_ptr<EvictionPolicy> soft_pinned, const UnitNames& names)
    : normal_(std::move(normal)),
      soft_pinned_(std::move(soft_pinned)),
      names_(&names),
      wanted_(std::make_unique<UnitList>()) {}

Evictable* EvictionOrder::parent(const Evictable& unit) const {
  return unit.in_policy() ? policy_of(unit).parent(unit) : nullptr;
}

EvictionPolicy& EvictionOrder::policy_of(const Evictable& unit) const {
  LARDER_ASSERT(contains(unit));
  return unit.place == Place::normal ? *normal_ : *soft_pinned_;
}

void EvictionOrder::enter(Evictable& unit, const Evictable* parent) {
  // A unit that names itself is in no policy yet, so it is a root too.
  const bool beside = parent != nullptr && parent->place == unit.place && parent->in_policy();
  policy_of(unit).insert(unit, beside ? parent : nullptr);
}

void EvictionOrder::leave(Evictable& unit) {
  if (!is_wanted(unit)) return policy_of(unit).erase(unit);
  wanted_->remove(unit);
  --wanted_size_;
  wanted_bytes_ -= unit.bytes;
  unit.line = Line::none;
}

void EvictionOrder::insert(Evictable& unit, Insertion how) {
  LARDER_ASSERT(!contains(unit));
  unit.place = how.soft_pinned ? Place::soft_pinned : Place::normal;
  enter(unit, how.parent);
  bytes_ += unit.bytes;
}

void EvictionOrder::access(Evictable& unit) {
  if (!is_wanted(unit)) return policy_of(unit).access(unit);
  leave(unit);
  enter(unit, nullptr);
}

void EvictionOrder::erase(Evictable& unit) {
  leave(unit);
  unit.place = Place::none;
  bytes_ -= unit.bytes;
}

void EvictionOrder::defer(Evictable& unit) {
  if (!is_wanted(unit)) return policy_of(unit).defer(unit);
  leave(unit);
  enter(unit, nullptr);
}

void EvictionOrder::want(Evictable& unit) {
  LARDER_ASSERT(!is_wanted(unit));
  leave(unit);
  unit.line = Line::wanted;
  wanted_->push_back(unit);
  ++wanted_size_;
  wanted_bytes_ += unit.bytes;
}

void EvictionOrder::set_soft_pinned(Evictable& unit, bool soft_pinned) {
  const Place place = soft_pinned ? Place::soft_pinned : Place::normal;
  LARDER_ASSERT(contains(unit));
  if (unit.place == place) return;
  leave(unit);
  unit.place = place;
  enter(unit, nullptr);
}

void EvictionOrder::resize(Evictable& unit, Bytes bytes) {
  LARDER_ASSERT(contains(unit));
  bytes_ += bytes;
  bytes_ -= unit.bytes;
  if (is_wanted(unit)) {
    wanted_bytes_ += bytes;
    wanted_bytes_ -= unit.bytes;
  }
  unit.bytes = bytes;
}

std::vector<Evictable*> EvictionOrder::units() const {
  std::vector<Evictable*> units = normal_->units();
  const std::vector<Evictable*> soft_pinned = soft_pinned_->units();
  units.insert(units.end(), soft_pinned.begin(), soft_pinned.end());
  wanted_->append_to(units);
  return units;
}

void EvictionOrder::archive(Archive& archive) {
  archive(bytes_, wanted_bytes_);
  normal_->archive(archive);
  soft_pinned_->archive(archive);
  std::vector<Evictable*> wanted;
  wanted_->append_to(wanted);
  std::vector<std::uint32_t> order;
  for (const Evictable* unit : wanted) order.push_back(names_->name(*unit));
  archive(order);
  if (!archive.loading()) return;
  const auto are_in = [](const EvictionPolicy& policy, Place place) {
    return std::ranges::all_of(policy.units(),
                               [&](Evictable* unit) { return unit->place == place; });
  };
  archive.require(are_in(*normal_, Place::normal) && are_in(*soft_pinned_, Place::soft_pinned),
                  "a unit is in the wrong order of eviction");
  for (const std::uint32_t name : order) {
    Evictable* const unit = names_->find(name);
    const bool fits = unit != nullptr && is_wanted(*unit) && unit->first == nullptr;
    if (!archive.require(fits, "a unit is not wanted")) return;
    wanted_->push_back(*unit);
    ++wanted_size_;
  }
}

void EvictionOrder::add_identity(Identity& identity) const {
  identity.add(normal_->size()).add(soft_pinned_->size());
  normal_->add_identity(identity);
  soft_pinned_->add_identity(identity);
}

void EvictionOrder::check_invariants() const {
  normal_->check_invariants();
  soft_pinned_->check_invariants();
  for (const Evictable* unit : normal_->units()) LARDER_ASSERT(unit->place == Place::normal);
  for (const Evictable* unit : soft_pinned_->units()) {
    LARDER_ASSERT(unit->place == Place::soft_pinned);
  }
  std::vector<Evictable*> wanted;
  wanted_->append_to(wanted);
  Bytes bytes;
  for (const Evictable* unit : wanted) {
    LARDER_ASSERT(contains(*unit) && is_wanted(*unit));
    bytes += unit->bytes;
  }
  LARDER_ASSERT(wanted.size() == wanted_size_);
  LARDER_ASSERT(bytes == wanted_bytes_);
  LARDER_ASSERT(wanted_bytes_ <= bytes_);
}

}  // namespace larder
