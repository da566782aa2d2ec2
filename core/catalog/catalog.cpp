#include "core/catalog/catalog.h"

#include <xxhash.h>

#include <algorithm>

#include "core/base/assert.h"
#include "core/protocol/limits.h"

namespace larder {
namespace {

// A group has an object at least, and there are less than 2^31 - 1 of those (ObjectStore).
constexpr std::uint32_t group_bit = 0x80000000;

std::uint64_t relative(Time time, Time now) {
  if (time <= now) return 0;
  if (time == time_never) return ~std::uint64_t{0};
  return static_cast<std::uint64_t>((time - now).count());
}

}  // namespace

Catalog::Catalog(std::string_view policy, std::uint32_t lease_rounds)
    : order_(EvictionOrder::make(policy, names_).value()), lease_rounds_(lease_rounds) {}

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

std::uint32_t Catalog::Names::name(const Evictable& evictable) const {
  const auto& unit = static_cast<const Unit&>(evictable);
  return unit.slot | (unit.is_group ? group_bit : 0);
}

Evictable* Catalog::Names::find(std::uint32_t name) const {
  if ((name & group_bit) != 0) return catalog_.groups_.at(name & ~group_bit);
  return catalog_.objects_.at(name);
}

std::uint64_t Catalog::Names::identity(const Evictable& evictable) const {
  const auto& unit = static_cast<const Unit&>(evictable);
  if (unit.is_group) return static_cast<const Group&>(unit).name_hash;
  return name_of(static_cast<const Object&>(unit)).hash;
}

Object* Catalog::head(const Name& key) const {
  const std::uint32_t slot = by_key_.find(key.hash, [&](std::uint32_t candidate) {
    const Object& object = objects_[candidate];
    return object.tenant == key.tenant && object.key() == key.text;
  });
  return slot == KeyIndex::none ? nullptr : &objects_[slot];
}

Catalog::Versions Catalog::find(const Name& key) const {
  Object* first = head(key);
  if (first == nullptr) return {};
  if (first->unfinished()) return {.current = nullptr, .unfinished = first};
  return {.current = first, .unfinished = newer(*first)};
}

void Catalog::prefetch(std::span<const Name> names) const {
  for (const Name& name : names) by_key_.prefetch(name.hash);
  for (const Name& name : names) {
    const std::uint32_t slot = by_key_.candidate(name.hash);
    if (slot != KeyIndex::none) objects_.prefetch(slot);
  }
  for (const Name& name : names) {
    const std::uint32_t slot = by_key_.candidate(name.hash);
    if (slot != KeyIndex::none) objects_[slot].prefetch_neighbours();
  }
}

Extras* Catalog::extras(const Object& object) const {
  return object.extras == no_extras ? nullptr : extras_.at(object.extras);
}

Extras& Catalog::make_extras(Object& object) {
  if (object.extras == no_extras) object.extras = extras_.emplace(object).slot;
  return *extras_.at(object.extras);
}

Object* Catalog::newer(const Object& object) const {
  const Extras* const has = extras(object);
  return has == nullptr ? nullptr : has->newer;
}

bool Catalog::soft_pinned(const Object& object) const {
  const Extras* const has = extras(object);
  return has != nullptr && has->soft_pin_end != Time::min();
}

const Group* Catalog::group(const Object& object) const {
  const Extras* const has = extras(object);
  return has == nullptr ? nullptr : has->group;
}

Time Catalog::soft_pin_end(const Object& object) const {
  const Extras* const has = extras(object);
  return has == nullptr ? Time::min() : has->soft_pin_end;
}

Time Catalog::expires(const Object& object) const {
  const Extras* const has = extras(object);
  return has == nullptr ? time_never : has->expires;
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
  Object& object = objects_.emplace(key.text);
  object.tenant = key.tenant;
  object.put_id = what.put_id;
  object.size = what.size;
  object.hard_pin = what.hard_pin;
  object.upsert = what.upsert;
  if (Object* const first = what.beside) {
    LARDER_ASSERT(!first->unfinished() && newer(*first) == nullptr, "one unfinished put a key");
    make_extras(*first).newer = &object;
  } else {
    by_key_.insert(key.hash, object.slot);
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
  Extras& own = make_extras(object);
  own.group = group;
  group->members.push_back(own);
}

const Unit* Catalog::find_unit(const Name& name) const {
  if (Object* object = find(name).current) return &unit(*object);
  return find_group(name);
}

Unit& Catalog::unit(Object& object) const {
  const Extras* const has = extras(object);
  if (has != nullptr && has->group != nullptr) return *has->group;
  return object;
}

const Unit& Catalog::unit(const Object& object) const { return unit(const_cast<Object&>(object)); }

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
  object.put = no_put;
  complete(object, how, bytes);
}

Object& Catalog::restore(const Name& key, const NewObject& what, const Publication& how,
                         const Replica& replica, Bytes bytes) {
  Object* unfinished = find(key).unfinished;
  if (unfinished != nullptr) by_key_.erase(key.hash, unfinished->slot);
  Object& object = add_unfinished(key, what);
  if (unfinished != nullptr) make_extras(object).newer = unfinished;
  object.replicas.push_back(replica);
  complete(object, how, bytes);
  return object;
}

void Catalog::complete(Object& object, const Publication& how, Bytes bytes) {
  ++complete_;
  count_only_copy(object, Counted::yes);
  if (how.time_to_live > Duration(0)) {
    const Time expires = make_extras(object).expires = later(how.now, how.time_to_live);
    expiries_.arm(expires, object.slot);
  }
  if (how.soft_pin > Duration(0) && !object.hard_pin) {
    const Time end = make_extras(object).soft_pin_end = later(how.now, how.soft_pin);
    soft_pins_.arm(end, object.slot);
  }
  Unit& whole = unit(object);
  const Unit* parent = how.parent ? find_unit(*how.parent) : nullptr;
  if (parent == &whole || (parent != nullptr && !EvictionOrder::contains(*parent)))
    parent = nullptr;
  object.bytes = bytes;
  if (whole.is_group) {
    auto& group = static_cast<Group&>(whole);
    ++group.complete;
    if (object.hard_pin) ++group.hard_pinned;
    if (soft_pinned(object)) ++group.soft_pins;
    resize(group, group.bytes + bytes);
    if (EvictionOrder::contains(group)) order_.access(group);
    place(group, parent);
  } else {
    place(object, !object.hard_pin, {.soft_pinned = soft_pinned(object), .parent = parent});
  }
}

void Catalog::resize(Unit& unit, Bytes bytes) {
  if (EvictionOrder::contains(unit)) {
    order_.resize(unit, bytes);
  } else {
    unit.bytes = bytes;
  }
}

void Catalog::count_only_copy(const Object& object, Counted counted) {
  if (object.replicas.size() != 1) return;
  const SegmentIndex segment = object.replicas[0].segment;
  if (segment >= only_in_.size()) only_in_.resize(segment + 1);
  only_in_[segment] += counted == Counted::yes ? 1u : ~0u;
}

void Catalog::add_replica(Object& object, const Replica& replica, Bytes length) {
  count_only_copy(object, Counted::no);
  object.replicas.push_back(replica);
  resize(object, object.bytes + length);
}

void Catalog::drop_replica(Object& object, std::size_t index, Bytes length) {
  LARDER_ASSERT(object.replicas.size() > 1, "an object without a copy is erased");
  object.replicas.erase(&object.replicas[index]);
  count_only_copy(object, Counted::yes);
  resize(object, object.bytes - length);
}

void Catalog::resize(Object& object, Bytes bytes) {
  Unit& whole = unit(object);
  resize(whole, whole.bytes - object.bytes + bytes);
  object.bytes = bytes;
}

void Catalog::leave(Object& object, Group& group) {
  Extras& own = *extras(object);
  group.members.erase(group.members.iterator_to(own));
  own.group = nullptr;
  if (!object.unfinished()) {
    --group.complete;
    if (object.hard_pin) --group.hard_pinned;
    if (soft_pinned(object)) --group.soft_pins;
    resize(group, group.bytes - object.bytes);
    place(group, nullptr);
  }
  if (group.members.empty()) {
    by_group_.erase(&group);
    groups_.erase(group.slot);
  }
}

void Catalog::erase(Object& object) {
  const Name key = name_of(object);
  Object* const first = head(key);
  Object* const after = newer(object);
  if (first != &object) {
    LARDER_ASSERT(first != nullptr && newer(*first) == &object, "the object is in the index");
    extras(*first)->newer = nullptr;
  } else if (after != nullptr) {
    by_key_.replace(key.hash, object.slot, after->slot);
  } else {
    by_key_.erase(key.hash, object.slot);
  }
  const Extras* const has = extras(object);
  if (!object.unfinished()) {
    --complete_;
    count_only_copy(object, Counted::no);
    if (has != nullptr && has->expires != time_never) expiries_.disarm(has->expires, object.slot);
    if (soft_pinned(object)) soft_pins_.disarm(has->soft_pin_end, object.slot);
  }
  if (has != nullptr && has->group != nullptr) {
    leave(object, *has->group);
  } else if (EvictionOrder::contains(object)) {
    order_.erase(object);
  }
  if (has != nullptr) extras_.erase(object.extras);
  objects_.erase(object);
}

const Unit* Catalog::parent(const Object& object) const {
  return static_cast<const Unit*>(order_.parent(unit(object)));
}

Catalog::LeaseHandle Catalog::grant_lease(Object& object, Time now, Time until) {
  Unit& whole = unit(object);
  whole.lease.grant(now, until, lease_rounds_);
  if (EvictionOrder::contains(whole)) order_.access(whole);
  return {.slot = names_.name(whole), .round = whole.lease.round};
}

void Catalog::grant_exists_lease(Object& object, Time now, Time until) {
  Unit& whole = unit(object);
  if (!EvictionOrder::is_wanted(whole) && now < until) {
    whole.lease.exists_end = std::max(whole.lease.exists_end, until);
  }
}

void Catalog::give_back(LeaseHandle handle) {
  auto* const whole = static_cast<Unit*>(names_.find(handle.slot));
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
  extras(*object)->expires = time_never;
  return object;
}

bool Catalog::end_soft_pin(Time now) {
  const std::optional<std::uint32_t> slot = soft_pins_.pop(now);
  if (!slot) return false;
  Object& object = *objects_.at(*slot);
  Extras& own = *extras(object);
  own.soft_pin_end = Time::min();
  if (own.group != nullptr) {
    --own.group->soft_pins;
    place(*own.group, nullptr);
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
  std::vector<std::uint32_t> only_in(only_in_.size());
  for (std::uint32_t slot = 0; slot < objects_.slots(); ++slot) {
    const Object* object = objects_.at(slot);
    if (object == nullptr) continue;
    LARDER_ASSERT(object->slot == slot);
    const Object* first = head(name_of(*object));
    LARDER_ASSERT(first == object || (first != nullptr && newer(*first) == object));
    const Extras* const has = extras(*object);
    LARDER_ASSERT(has == nullptr || has->object == object);
    heads += first == object ? 1 : 0;
    if (!object->unfinished()) {
      ++complete;
      LARDER_ASSERT(first == object, "the COMPLETE version leads");
      LARDER_ASSERT(!object->replicas.empty(), "a COMPLETE object has replicas");
      if (object->replicas.size() == 1) ++only_in.at(object->replicas[0].segment);
      for (const Replica& replica : object->replicas) {
        LARDER_ASSERT(replica.state == ReplicaState::complete);
      }
      const bool pinned =
          has != nullptr && has->group != nullptr ? has->group->hard_pinned > 0 : object->hard_pin;
      LARDER_ASSERT(EvictionOrder::contains(unit(*object)) == !pinned);
    }
  }
  LARDER_ASSERT(heads == by_key_.size());
  by_key_.check_invariants();
  LARDER_ASSERT(complete == complete_);
  LARDER_ASSERT(only_in == only_in_, "what lies in one segment alone is counted");
  for (std::uint32_t slot = 0; slot < groups_.slots(); ++slot) {
    const Group* group = groups_.at(slot);
    if (group == nullptr) continue;
    LARDER_ASSERT(!group->members.empty() && group->members.size() <= group_members_max);
    Bytes bytes;
    std::uint32_t finished = 0;
    std::uint32_t hard_pinned = 0;
    std::uint32_t soft_pins = 0;
    for (const Extras& member : group->members) {
      LARDER_ASSERT(member.group == group);
      const Object& object = *member.object;
      if (object.unfinished()) continue;
      ++finished;
      hard_pinned += object.hard_pin;
      soft_pins += soft_pinned(object);
      bytes += object.bytes;
    }
    LARDER_ASSERT(finished == group->complete && bytes == group->bytes);
    LARDER_ASSERT(hard_pinned == group->hard_pinned && soft_pins == group->soft_pins);
    LARDER_ASSERT(EvictionOrder::contains(*group) == (finished > 0 && hard_pinned == 0));
    const auto place = soft_pins > 0 ? Evictable::Place::soft_pinned : Evictable::Place::normal;
    LARDER_ASSERT(!EvictionOrder::contains(*group) || group->place == place);
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
    digest.add(relative(whole.lease.exists_end, now)).add(relative(expires(*object), now));
    digest.add(object->hard_pin ? 1 : 0).add(relative(soft_pin_end(*object), now));
    const Extras* own = extras(*object);
    digest.add(own != nullptr && own->group != nullptr ? own->group->name : std::string());
    for (const Replica& replica : object->replicas) {
      digest.add(replica.segment).add(replica.offset.value).add(std::uint64_t(replica.state));
    }
  }
}

}  // namespace larder
