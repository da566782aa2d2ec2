#include "core/eviction/policy.h"

#include "core/base/assert.h"

namespace larder {

using Line = Evictable::Line;

void EvictionPolicy::insert(Evictable& unit, const Evictable* parent) {
  LARDER_ASSERT(unit.line == Line::none);
  LARDER_ASSERT(parent == nullptr || parent->in_policy());
  unit.line = Line::first;
  unit.uses = 0;
  admit(unit, parent);
  join(unit);
  ++size_;
}

void EvictionPolicy::access(Evictable& unit) {
  LARDER_ASSERT(unit.in_policy());
  count_use(unit);
  if (unit.in_line()) used(unit);
}

void EvictionPolicy::erase(Evictable& unit) {
  LARDER_ASSERT(unit.in_policy());
  const bool was_front = front() == &unit;
  if (unit.in_line()) {
    unlink(unit);
  } else {
    deferred_.remove(unit);  // or returning_: it hangs on its neighbours alone
  }
  unit.line = Line::none;
  --size_;
  left(unit, was_front);
}

Evictable* EvictionPolicy::victim(std::uint32_t& looks) {
  while (Evictable* const unit = returning_.front()) {
    if (looks == 0) return nullptr;
    --looks;
    returning_.remove(*unit);
    unit->line = Line::first;
    join(*unit);
  }
  return next(looks);
}

void EvictionPolicy::defer(Evictable& unit) {
  LARDER_ASSERT(unit.in_line());
  unlink(unit);
  unit.line = Line::deferred;
  deferred_.push_back(unit);
}

std::vector<Evictable*> EvictionPolicy::units() const {
  std::vector<Evictable*> units;
  returning_.append_to(units);
  append_line(units);
  deferred_.append_to(units);
  return units;
}

void EvictionPolicy::archive(Archive& archive) {
  std::vector<Evictable*> returning;
  returning_.append_to(returning);
  std::size_t left_to_return = returning.size();
  std::vector<std::uint32_t> order;
  for (const Evictable* unit : units()) order.push_back(names_.name(*unit));
  archive(clock_, left_to_return, order);
  archive_rest(archive);
  if (!archive.loading()) return;

  constexpr std::string_view wrong = "an order of eviction names what is not there";
  std::vector<Evictable*> loaded;
  for (const std::uint32_t name : order) {
    Evictable* const unit = names_.find(name);
    if (!archive.require(unit != nullptr && unit->in_policy(), wrong)) return;
    loaded.push_back(unit);
  }
  if (!archive.require(restore(loaded), wrong)) return;
  for (Evictable* const unit : loaded) {
    if (!archive.require(unit->first == nullptr, "a unit stands twice in an order of eviction"))
      return;
    if (unit->in_line()) {
      link(*unit);
    } else {
      (left_to_return > 0 ? returning_ : deferred_).push_back(*unit);
      left_to_return -= left_to_return > 0 ? 1 : 0;
    }
    ++size_;
  }
  // What has no links of its own, since it is above others, was named once and is above one.
  archive.require(units().size() == size_, wrong);
}

void EvictionPolicy::append_deferred(std::vector<Evictable*>& units) const {
  returning_.append_to(units);
  deferred_.append_to(units);
}

void EvictionPolicy::add_identity(Identity& identity) const {
  std::vector<Evictable*> returning;
  returning_.append_to(returning);
  identity.add(returning.size());
  add_rest(identity);
}

void EvictionPolicy::check_invariants() const {
  const std::vector<Evictable*> all = units();
  LARDER_ASSERT(all.size() == size_);
  for (const Evictable* unit : all) LARDER_ASSERT(unit->in_policy());
  check_line();
}

}  // namespace larder
