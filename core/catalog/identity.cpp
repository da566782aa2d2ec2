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

void Catalog::add_order(Identity& identity) const {
  const auto add_name = [&](const Evictable& evictable) {
    const auto& whole = static_cast<const Unit&>(evictable);
    if (whole.is_group) {
      const auto& group = static_cast<const Group&>(whole);
      identity.add(group.tenant).add(group.name);
    } else {
      identity.put(static_cast<const Object&>(whole).put_id);
    }
  };
  for (const Evictable* each : order_.units()) {
    add_name(*each);
    identity.add(static_cast<std::uint64_t>(each->place)).add(each->bytes);
    identity.add(static_cast<std::uint64_t>(each->line));
    if (const Evictable* above = order_.parent(*each)) add_name(*above);
  }
  order_.add_identity(identity);
}

void Catalog::add_identity(Identity& identity, Time now) const {
  std::vector<const Object*> objects;
  for (std::uint32_t slot = 0; slot < objects_.slots(); ++slot) {
    const Object* object = objects_.at(slot);
    if (object == nullptr) continue;
    objects.push_back(object);
  }
  std::ranges::sort(objects, {}, [](const Object* each) {
    return std::tuple(each->tenant, each->key(), each->put_id);
  });
  identity.add(objects.size());
  for (const Object* object : objects) add_object(*object, identity, now);
  add_order(identity);
  for (const auto* deadlines : {&expiries_, &soft_pins_}) {
    for (const auto& [at, slot] : deadlines->all()) {
      identity.until(at, now).put(objects_.at(slot)->put_id);
    }
  }
}

}  // namespace larder
