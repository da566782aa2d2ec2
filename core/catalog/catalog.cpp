#include "core/catalog/catalog.h"

#include <xxhash.h>

#include <algorithm>

#include "core/base/assert.h"
#include "core/protocol/limits.h"

namespace larder {
namespace {

// Slots of groups and of objects share the handles that readers give back.
constexpr std::uint32_t group_slot = 0x80000000;

std::uint64_t relative(Time time, Time now) {
  if (time <= now) return 0;
  if (time == time_never) return ~std::uint64_t{0};
  return static_cast<std::uint64_t>((time - now).count());
}

}  // namespace

std::optional<TenantId> Catalog::find_tenant(std::string_view name) const {
  const auto known = std::ranges::find(tenants_, name);
  if (known == tenants_.end()) return std::nullopt;
  return static_cast<TenantId>(known - tenants_.begin());
}

Result<TenantId> Catalog::tenant(std::string_view name) {
  if (const std::optional<TenantId> known = find_tenant(name)) return *known;
  if (tenants_.size() == 0xffff) {
    return failed(ErrorCode::invalid_params, "there are 65,535 tenants already");
  }
  tenants_.emplace_back(name);
  return static_cast<TenantId>(tenants_.size() - 1);
}

Catalog::Name Catalog::name(TenantId tenant, std::string_view text) {
  return {tenant, text, XXH3_64bits_withSeed(text.data(), text.size(), tenant)};
}

Object* Catalog::head(const Name& key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : *found;
}

Catalog::Versions Catalog::find(const Name& key) const {
  Object* first = head(key);
  if (first == nullptr) return {};
  if (first->unfinished()) return {.current = nullptr, .unfinished = first};
  return {.current = first, .unfinished = first->newer};
}

Group* Catalog::find_group(const Name& name) const {
  const auto found = by_group_.find(name);
  return found == by_group_.end() ? nullptr : *found;
}

bool Catalog::group_has_room(const Name& name) const {
  const Group* group = find_group(name);
  return group == nullptr || group->members.size() < group_members_max;
}

Object& Catalog::add_unfinished(const Name& key, const NewObject& what) {
  auto [object, slot] = objects_.emplace();
  object.slot = slot;
  object.tenant = key.tenant;
  object.key_text = std::make_unique_for_overwrite<char[]>(key.text.size());
  object.key_length = static_cast<std::uint16_t>(key.text.size());
  std::ranges::copy(key.text, object.key_text.get());
  object.key_hash = key.hash;
  object.put_id = what.put_id;
  object.size = what.size;
  object.hard_pin = what.hard_pin;
  object.upsert = what.upsert;
  if (Object* first = head(key)) {
    LARDER_ASSERT(!first->unfinished() && first->newer == nullptr, "one unfinished put a key");
    first->newer = &object;
  } else {
    by_key_.insert(&object);
  }
  if (what.group) join(object, *what.group);
  return object;
}

void Catalog::join(Object& object, const Name& name) {
  Group* group = find_group(name);
  if (group == nullptr) {
    auto [made, slot] = groups_.emplace();
    made.slot = slot;
    made.is_group = true;
    made.tenant = name.tenant;
    made.name = name.text;
    made.name_hash = name.hash;
    by_group_.insert(&made);
    group = &made;
  }
  LARDER_ASSERT(group->members.size() < group_members_max, "the group has no room");
  group->members.push_back(object);
  object.group = group;
}

const Unit* Catalog::find_unit(const Name& name) const {
  if (Object* object = find(name).current) return &unit(*object);
  return find_group(name);
}

Unit& Catalog::unit(Object& object) {
  if (object.group != nullptr) return *object.group;
  return object;
}

const Unit& Catalog::unit(const Object& object) {
  if (object.group != nullptr) return *object.group;
  return object;
}

void Catalog::place(Unit& unit, bool evictable, const EvictionOrder::Insertion& how) {
  if (evictable == EvictionOrder::contains(unit)) {
    if (evictable) order_.set_soft_pinned(unit, how.soft_pinned);
  } else if (evictable) {
    order_.insert(unit, how);
  } else {
    order_.erase(unit);
  }
}

void Catalog::place(Group& group, const Unit* parent) {
  place(group, group.complete > 0 && group.hard_pinned == 0,
        {.soft_pinned = group.soft_pins > 0, .parent = parent});
}

void Catalog::publish(Object& object, const Publication& how, Bytes bytes) {
  LARDER_ASSERT(object.unfinished());
  const Name key{object.tenant, object.key(), object.key_hash};
  LARDER_ASSERT(head(key) == &object, "the older version is still there");
  object.put = nullptr;
  complete(object, how, bytes);
}

Object& Catalog::restore(const Name& key, const NewObject& what, const Publication& how,
                         const Replica& replica, Bytes bytes) {
  Object* unfinished = find(key).unfinished;
  if (unfinished != nullptr) by_key_.erase(by_key_.find(key));
  Object& object = add_unfinished(key, what);
  object.newer = unfinished;
  object.replicas.push_back(replica);
  complete(object, how, bytes);
  return object;
}

void Catalog::complete(Object& object, const Publication& how, Bytes bytes) {
  ++complete_;
  if (how.time_to_live > Duration(0)) {
    object.expires = later(how.now, how.time_to_live);
    expiries_.arm(object.expires, object.slot);
  }
  if (how.soft_pin > Duration(0) && !object.hard_pin) {
    object.soft_pin_end = later(how.now, how.soft_pin);
    soft_pins_.arm(object.soft_pin_end, object.slot);
  }
  Unit& whole = unit(object);
  const Unit* parent = how.parent ? find_unit(*how.parent) : nullptr;
  if (parent == &whole || (parent != nullptr && !EvictionOrder::contains(*parent)))
    parent = nullptr;
  const bool soft_pinned = object.soft_pin_end != Time::min();
  if (Group* group = object.group) {
    ++group->complete;
    if (object.hard_pin) ++group->hard_pinned;
    if (soft_pinned) ++group->soft_pins;
    if (EvictionOrder::contains(*group)) {
      order_.resize(*group, group->bytes + bytes);
      order_.access(*group);
    } else {
      group->bytes += bytes;
    }
    object.bytes = bytes;
    place(*group, parent);
  } else {
    object.bytes = bytes;
    place(object, !object.hard_pin, {.soft_pinned = soft_pinned, .parent = parent});
  }
}

void Catalog::resize(Object& object, Bytes bytes) {
  const auto set = [&](Unit& unit, Bytes to) {
    if (EvictionOrder::contains(unit)) {
      order_.resize(unit, to);
    } else {
      unit.bytes = to;
    }
  };
  if (Group* group = object.group) {
    set(*group, group->bytes - object.bytes + bytes);
    object.bytes = bytes;
  } else {
    set(object, bytes);
  }
}

void Catalog::leave(Object& object) {
  Group* group = object.group;
  group->members.erase(group->members.iterator_to(object));
  if (!object.unfinished()) {
    --group->complete;
    if (object.hard_pin) --group->hard_pinned;
    if (object.soft_pin_end != Time::min()) --group->soft_pins;
    if (EvictionOrder::contains(*group)) {
      order_.resize(*group, group->bytes - object.bytes);
    } else {
      group->bytes -= object.bytes;
    }
    place(*group, nullptr);
  }
  object.group = nullptr;
  if (group->members.empty()) {
    by_group_.erase(group);
    groups_.erase(group->slot);
  }
}

void Catalog::erase(Object& object) {
  const Name key{object.tenant, object.key(), object.key_hash};
  Object* first = head(key);
  if (first != &object) {
    LARDER_ASSERT(first != nullptr && first->newer == &object, "the object is in the index");
    first->newer = nullptr;
  } else {
    by_key_.erase(by_key_.find(key));
    if (object.newer != nullptr) by_key_.insert(object.newer);
  }
  if (!object.unfinished()) {
    --complete_;
    if (object.expires != time_never) expiries_.disarm(object.expires, object.slot);
    if (object.soft_pin_end != Time::min()) soft_pins_.disarm(object.soft_pin_end, object.slot);
  }
  if (object.group != nullptr) {
    leave(object);
  } else if (EvictionOrder::contains(object)) {
    order_.erase(object);
  }
  objects_.erase(object.slot);
}

Catalog::LeaseHandle Catalog::grant_lease(Object& object, Time now, Time until) {
  Unit& whole = unit(object);
  whole.lease.grant(now, until, lease_rounds_);
  if (EvictionOrder::contains(whole)) order_.access(whole);
  const std::uint32_t slot = whole.is_group ? group_slot | object.group->slot : object.slot;
  return {.slot = slot, .round = whole.lease.round};
}

void Catalog::grant_exists_lease(Object& object, Time now, Time until) {
  Unit& whole = unit(object);
  if (!EvictionOrder::is_wanted(whole) && now < until) {
    whole.lease.exists_end = std::max(whole.lease.exists_end, until);
  }
}

void Catalog::give_back(LeaseHandle handle) {
  Unit* whole = nullptr;
  if ((handle.slot & group_slot) != 0) {
    whole = groups_.at(handle.slot & ~group_slot);
  } else {
    whole = objects_.at(handle.slot);
  }
  if (whole != nullptr) whole->lease.give_back(handle.round);
}

void Catalog::hold(Object& object, Time until) {
  Lease& lease = unit(object).lease;
  lease.exists_end = std::max(lease.exists_end, until);
}

Object* Catalog::pop_expired(Time now) {
  const std::optional<std::uint32_t> slot = expiries_.pop(now);
  if (!slot) return nullptr;
  Object* object = objects_.at(*slot);
  object->expires = time_never;
  return object;
}

bool Catalog::end_soft_pin(Time now) {
  const std::optional<std::uint32_t> slot = soft_pins_.pop(now);
  if (!slot) return false;
  Object& object = *objects_.at(*slot);
  object.soft_pin_end = Time::min();
  if (Group* group = object.group) {
    --group->soft_pins;
    place(*group, nullptr);
  } else {
    place(object, true, {});  // a hard-pinned one has no soft pin
  }
  return true;
}

std::optional<Time> Catalog::next_deadline() const {
  const std::optional<Time> expiry = expiries_.next();
  const std::optional<Time> pin = soft_pins_.next();
  if (!expiry || (pin && *pin < *expiry)) return pin;
  return expiry;
}

void Catalog::check_invariants() const {
  std::size_t complete = 0;
  std::size_t heads = 0;
  for (std::uint32_t slot = 0; slot < objects_.slots(); ++slot) {
    const Object* object = objects_.at(slot);
    if (object == nullptr) continue;
    LARDER_ASSERT(object->slot == slot);
    const Object* first = head({object->tenant, object->key(), object->key_hash});
    LARDER_ASSERT(first == object || (first != nullptr && first->newer == object));
    heads += first == object ? 1 : 0;
    if (!object->unfinished()) {
      ++complete;
      LARDER_ASSERT(first == object, "the COMPLETE version leads");
      LARDER_ASSERT(!object->replicas.empty(), "a COMPLETE object has replicas");
      for (const Replica& replica : object->replicas) {
        LARDER_ASSERT(replica.state == ReplicaState::complete);
      }
      const bool pinned =
          object->group != nullptr ? object->group->hard_pinned > 0 : object->hard_pin;
      LARDER_ASSERT(EvictionOrder::contains(unit(*object)) == !pinned);
    }
  }
  LARDER_ASSERT(heads == by_key_.size());
  LARDER_ASSERT(complete == complete_);
  for (std::uint32_t slot = 0; slot < groups_.slots(); ++slot) {
    const Group* group = groups_.at(slot);
    if (group == nullptr) continue;
    LARDER_ASSERT(!group->members.empty() && group->members.size() <= group_members_max);
    Bytes bytes;
    std::uint32_t finished = 0;
    std::uint32_t hard_pinned = 0;
    std::uint32_t soft_pins = 0;
    for (const Object& member : group->members) {
      LARDER_ASSERT(member.group == group);
      if (member.unfinished()) continue;
      ++finished;
      hard_pinned += member.hard_pin;
      soft_pins += member.soft_pin_end != Time::min();
      bytes += member.bytes;
    }
    LARDER_ASSERT(finished == group->complete && bytes == group->bytes);
    LARDER_ASSERT(hard_pinned == group->hard_pinned && soft_pins == group->soft_pins);
    LARDER_ASSERT(EvictionOrder::contains(*group) == (finished > 0 && hard_pinned == 0));
    LARDER_ASSERT(!EvictionOrder::contains(*group) || group->soft_pinned == (soft_pins > 0));
  }
  order_.check_invariants();
}

void Catalog::add_to(Digest& digest, Time now) const {
  for (std::uint32_t slot = 0; slot < objects_.slots(); ++slot) {
    const Object* object = objects_.at(slot);
    if (object == nullptr) continue;
    const Unit& whole = unit(*object);
    digest.add(slot).add(object->tenant).add(object->key());
    digest.add(object->put_id.epoch.value).add(object->put_id.counter).add(object->size.value);
    digest.add(object->unfinished() ? 1 : 0).add(object->checksum).add(whole.stamp);
    digest.add(whole.lease.count).add(relative(whole.lease.end, now));
    digest.add(relative(whole.lease.exists_end, now)).add(relative(object->expires, now));
    for (const Replica& replica : object->replicas) {
      digest.add(replica.segment).add(replica.offset.value).add(std::uint64_t(replica.state));
    }
  }
}

}  // namespace larder
