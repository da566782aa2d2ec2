#include <algorithm>
#include <tuple>
#include <vector>

#include "core/catalog/catalog.h"

namespace larder {

// A lease that is given back or over gives way to a new one, which has another round.
void Catalog::add_lease(const Lease& lease, Identity& identity, Time now) {
  const bool held = lease.held(now);
  identity.add(held ? lease.count : 0);
  identity.name(Identity::Kind::lease_round, 0, held ? lease.round : 0);
  identity.until(held ? lease.end : now, now).until(lease.exists_end, now);
}

void Catalog::add_object(const Object& object, Identity& identity, Time now) const {
  identity.add(object.tenant).add(object.key()).put(object.put_id).add(object.size);
  identity.add(object.hard_pin).add(object.upsert).add(object.unfinished());
  identity.add(object.has_checksum).add(object.checksum).add(object.replicas.size());
  for (const Replica& replica : object.replicas) {
    identity.add(replica.segment).add(replica.offset);
    identity.add(static_cast<std::uint64_t>(replica.state)).add(replica.confirmed_by);
  }
  identity.until(soft_pin_end(object), now).until(expires(object), now);
  const Group* of = group(object);
  identity.add(of != nullptr);
  if (of == nullptr) {
    add_lease(object.lease, identity, now);
    return;
  }
  identity.add(of->name).add(of->complete).add(of->hard_pinned).add(of->soft_pins);
  for (const Extras& member : of->members) identity.put(member.object->put_id);
  add_lease(of->lease, identity, now);
}

void Catalog::add_identity(Identity& identity, Time now) const {
  std::vector<const Object*> objects;
  std::vector<const Object*> ordered;  // by eviction: each stands for its unit
  for (std::uint32_t slot = 0; slot < objects_.slots(); ++slot) {
    const Object* object = objects_.at(slot);
    if (object == nullptr) continue;
    objects.push_back(object);
    if (EvictionOrder::contains(unit(*object))) ordered.push_back(object);
  }
  std::ranges::sort(objects, {}, [](const Object* each) {
    return std::tuple(each->tenant, each->key(), each->put_id);
  });
  identity.add(objects.size());
  for (const Object* object : objects) add_object(*object, identity, now);
  // Of equal units, members of one group, the order does not count.
  std::ranges::sort(ordered, {}, [&](const Object* each) {
    const Unit& whole = unit(*each);
    return std::tuple(whole.place, whole.stamp, each->put_id);
  });
  for (const Object* object : ordered) {
    const Unit& whole = unit(*object);
    identity.put(object->put_id).add(static_cast<std::uint64_t>(whole.place)).add(whole.bytes);
    if (const Unit* above = parent(*object)) {
      const auto of_parent =
          std::ranges::find_if(ordered, [&](const Object* each) { return &unit(*each) == above; });
      identity.put((*of_parent)->put_id);
    }
  }
  order_.for_each_wanted([&](const Evictable& wanted) {
    const auto of_unit =
        std::ranges::find_if(ordered, [&](const Object* each) { return &unit(*each) == &wanted; });
    identity.put((*of_unit)->put_id);
  });
  for (const auto* deadlines : {&expiries_, &soft_pins_}) {
    for (const auto& [at, slot] : deadlines->all()) {
      identity.until(at, now).put(objects_.at(slot)->put_id);
    }
  }
}

}  // namespace larder
