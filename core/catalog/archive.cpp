#include <algorithm>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstddef>
#include <vector>

#include "core/base/assert.h"
#include "core/catalog/catalog.h"

namespace larder {
namespace {

constexpr std::uint32_t no_slot = 0xffffffff;

bool in_order(const Unit* unit) { return unit != nullptr && EvictionOrder::contains(*unit); }

}  // namespace

void Catalog::archive(Archive& archive) {
  archive(tenants_);
  objects_.archive(archive);
  // On loading all records are there before the first one names another.
  extras_.archive(archive, [](Extras&, std::uint32_t) {});
  groups_.archive(archive, [](Group& group, std::uint32_t slot) {
    group.slot = slot;
    group.is_group = true;
  });
  for (std::uint32_t slot = 0; slot < objects_.slots() && archive.good(); ++slot) {
    if (Object* object = objects_.at(slot)) archive_object(archive, *object);
  }
  for (std::uint32_t slot = 0; slot < extras_.slots() && archive.good(); ++slot) {
    if (Extras* own = extras_.at(slot)) archive_extras(archive, *own, slot);
  }
  for (std::uint32_t slot = 0; slot < groups_.slots() && archive.good(); ++slot) {
    if (Group* group = groups_.at(slot)) archive_group(archive, *group, slot);
  }
  by_key_.archive(archive);
  archive(expiries_, soft_pins_, lease_rounds_, complete_, only_in_);
  order_.archive(archive);
  if (!archive.loading()) return;
  std::size_t ordered = 0;
  for (std::uint32_t slot = 0; slot < objects_.slots(); ++slot)
    ordered += in_order(objects_.at(slot));
  for (std::uint32_t slot = 0; slot < groups_.slots(); ++slot)
    ordered += in_order(groups_.at(slot));
  archive.require(ordered == order_.size(), "an order of eviction lacks a unit");
}

void Catalog::archive_unit(Archive& archive, Unit& unit) {
  unit.Evictable::archive(archive);
  archive(unit.lease.count, unit.lease.round, unit.lease.end, unit.lease.exists_end);
}

void Catalog::archive_object(Archive& archive, Object& object) {
  archive_unit(archive, object);
  archive(object.hard_pin, object.has_checksum, object.upsert, object.tenant, object.put_id,
          object.size, object.checksum, object.put, object.extras);
  archive.require(object.tenant < tenants_.size(), "an object has no tenant");
  archive.require(object.extras == no_extras || extras_.at(object.extras) != nullptr,
                  "an object's extras are missing");
  const std::size_t replicas = archive.count(object.replicas.size());
  for (std::size_t i = 0; i < replicas && archive.good(); ++i) {
    Replica replica;
    if (!archive.loading()) replica = object.replicas[i];
    archive(replica);
    if (archive.loading()) object.replicas.push_back(replica);
  }
}

void Catalog::archive_extras(Archive& archive, Extras& own, std::uint32_t slot) {
  std::uint32_t object = own.object == nullptr ? no_slot : own.object->slot;
  std::uint32_t newer = own.newer == nullptr ? no_slot : own.newer->slot;
  std::uint32_t group = own.group == nullptr ? no_slot : own.group->slot;
  archive(object, newer, group, own.soft_pin_end, own.expires);
  if (!archive.loading()) return;
  own.object = objects_.at(object);
  own.newer = objects_.at(newer);
  own.group = groups_.at(group);
  archive.require(own.object != nullptr && own.object->extras == slot &&
                      (own.newer != nullptr) == (newer != no_slot) &&
                      (own.group != nullptr) == (group != no_slot),
                  "an object's extras name what is not there");
}

void Catalog::archive_group(Archive& archive, Group& group, std::uint32_t slot) {
  archive_unit(archive, group);
  archive(group.tenant, group.name, group.name_hash, group.complete, group.hard_pinned,
          group.soft_pins);
  std::vector<std::uint32_t> members;
  for (const Extras& member : group.members) members.push_back(member.object->extras);
  archive(members);
  if (!archive.loading()) return;
  for (const std::uint32_t member : members) {
    Extras* const own = extras_.at(member);
    if (!archive.require(own != nullptr && own->group == &group && groups_.at(slot) == &group,
                         "a group's member is missing")) {
      return;
    }
    group.members.push_back(*own);
  }
  by_group_.insert(&group);
}

// Each comes in behind what it extends, so as to find that there.
void Catalog::set_policy(std::string_view policy) {
  struct Entry {
    Evictable* unit;
    EvictionOrder::Insertion how;
  };
  std::vector<Entry> entries;
  boost::unordered_flat_set<const Evictable*> taken;
  for (Evictable* unit : order_.units()) {
    const auto chain = static_cast<std::ptrdiff_t>(entries.size());
    while (unit != nullptr && taken.insert(unit).second) {
      Evictable* const parent = order_.parent(*unit);
      const bool soft_pinned = unit->place == Evictable::Place::soft_pinned;
      entries.push_back({unit, {.soft_pinned = soft_pinned, .parent = parent}});
      unit = parent;
    }
    std::reverse(entries.begin() + chain, entries.end());
  }
  for (const Entry& entry : entries) order_.erase(*entry.unit);
  order_ = EvictionOrder::make(policy, names_).value();
  for (const Entry& entry : entries) order_.insert(*entry.unit, entry.how);
}

}  // namespace larder
