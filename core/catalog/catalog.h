#pragma once

#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/identity.h"
#include "core/catalog/deadlines.h"
#include "core/catalog/key_index.h"
#include "core/catalog/object_store.h"
#include "core/catalog/slab.h"
#include "core/eviction/eviction_order.h"

namespace larder {

// The objects by name, with their groups, leases, pins and times to live, and the order in which
// eviction would take them. It knows nothing of sessions, nodes or space: whoever removes an object
// has dealt with its replicas before.
//
// A key has at most one COMPLETE version and one unfinished one. Confined to one thread; a function
// of the calls alone. Lookups, adding, publishing and erasing are O(1) (leaf-first: O(log n)).
class Catalog {
 public:
  // `policy`: a known one (check_policy). `lease_rounds`: leases are numbered from there on;
  // another one for each master.
  explicit Catalog(std::string_view policy, std::uint32_t lease_rounds = 0);
  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;

  // The short name of a tenant; made when it is first seen. INVALID_PARAMS beyond 65,535 tenants.
  Result<TenantId> tenant(std::string_view name);
  std::optional<TenantId> find_tenant(std::string_view name) const;
  std::vector<std::string_view> tenants() const { return {tenants_.begin(), tenants_.end()}; }
  std::string_view tenant_name(TenantId id) const { return tenants_[id]; }

  struct Name {
    TenantId tenant = 0;
    std::string_view text;
    std::uint64_t hash = 0;
  };
  static Name name(TenantId tenant, std::string_view text);

  struct Versions {
    Object* current = nullptr;  // COMPLETE
    Object* unfinished = nullptr;
  };
  Versions find(const Name& key) const;
  // Starts to load what find(), grant_lease() and erase() of these names will touch. The loads of
  // all of them go on at the same time, so that the calls that follow find it near; only time
  // depends on it. For some tens of names at once.
  void prefetch(std::span<const Name> names) const;
  Group* find_group(const Name& name) const;

  struct NewObject {
    Object* beside = nullptr;  // the COMPLETE version of the key, as find() tells
    PutId put_id;
    Bytes size;
    bool hard_pin = false;
    bool upsert = false;
    std::optional<Name> group;  // joined at once; made if it is new
  };
  // An unfinished version. Preconditions: the key has none; the group has room (group_has_room).
  // The caller sets Object::put before anything else.
  Object& add_unfinished(const Name& key, const NewObject& what);
  bool group_has_room(const Name& name) const;

  struct Publication {
    Time now;
    Duration soft_pin{0};
    Duration time_to_live{0};    // zero: none
    std::optional<Name> parent;  // the key or group that it extends
  };
  // The unfinished version becomes the COMPLETE one. Precondition: the key's older COMPLETE version
  // has been erased (checked by check_invariants). Its `bytes` are what its eviction would free.
  void publish(Object& object, const Publication& how, Bytes bytes);
  // A COMPLETE object that a node reports. Precondition: the key has no COMPLETE version; it may
  // have an unfinished one.
  Object& restore(const Name& key, const NewObject& what, const Publication& how,
                  const Replica& replica, Bytes bytes);
  // One more copy of a COMPLETE object, or one less (not the last), with the length of its extent.
  void add_replica(Object& object, const Replica& replica, Bytes length);
  void drop_replica(Object& object, std::size_t index, Bytes length);

  void erase(Object& object);

  // The unit whose lease and place in the order stand for the object.
  Unit& unit(Object& object) const;
  const Unit& unit(const Object& object) const;
  // nullptr: it has none.
  const Group* group(const Object& object) const;
  // Time::min(): it has no soft pin, or none any more.
  Time soft_pin_end(const Object& object) const;
  // time_never: its time to live has no end.
  Time expires(const Object& object) const;

  // A lease as its holder names it.
  struct LeaseHandle {
    std::uint32_t slot = 0;
    std::uint32_t round = 0;
  };
  // A reader was given the object's replicas: a full lease, and it is the most recently used.
  LeaseHandle grant_lease(Object& object, Time now, Time until);
  // A short lease for Exists, unless eviction waits for the last one to end.
  void grant_exists_lease(Object& object, Time now, Time until);
  void give_back(LeaseHandle handle);
  // Nobody may free it before `until`.
  void hold(Object& object, Time until);

  // What time alone has ended. Each call returns one, earliest first; nullptr when nothing is due.
  Object* pop_expired(Time now);
  bool end_soft_pin(Time now);
  std::optional<Time> next_deadline() const;

  EvictionOrder& order() { return order_; }
  const EvictionOrder& order() const { return order_; }
  // Another policy, a known one, from now on: units enter it in the order of the old one, with the
  // parents that that knows. O(n log n).
  void set_policy(std::string_view policy);
  // What its unit extends, where the policy orders by that: an Object or a Group; or nullptr.
  const Unit* parent(const Object& object) const;

  // For walks: slots 0 to slots()-1; nullptr for a vacant one.
  Object* at(std::uint32_t slot) const { return objects_.at(slot); }
  std::uint32_t slots() const { return objects_.slots(); }
  std::size_t complete_objects() const { return complete_; }
  // Of those, the ones of which the only copy is in this segment.
  std::size_t only_in(SegmentIndex segment) const {
    return segment < only_in_.size() ? only_in_[segment] : 0;
  }
  std::size_t size() const { return objects_.size(); }

  // Loading: into a new catalog with the same policy.
  void archive(Archive& archive);

  void check_invariants() const;
  // Of everything here, in a fixed order; instants relative to `now`. O(n).
  void add_to(Digest& digest, Time now) const;
  // What it is, apart from how it came about (core/base/identity.h). At which slot an object stands
  // does not count, although a walk over the directory meets the objects in that order.
  void add_identity(Identity& identity, Time now) const;

 private:
  struct GroupName {
    static Name of(const Group* group) { return {group->tenant, group->name, group->name_hash}; }
    static const Name& of(const Name& name) { return name; }
  };
  struct GroupHash {
    using is_transparent = void;
    using is_avalanching = void;
    std::size_t operator()(const auto& value) const { return GroupName::of(value).hash; }
  };
  struct GroupEqual {
    using is_transparent = void;
    bool operator()(const auto& a, const auto& b) const {
      const Name x = GroupName::of(a);
      const Name y = GroupName::of(b);
      return x.hash == y.hash && x.tenant == y.tenant && x.text == y.text;
    }
  };

  // Of units, for the order and for those who give leases back: the slot, and whether of a group.
  class Names final : public UnitNames {
   public:
    explicit Names(const Catalog& catalog) : catalog_(catalog) {}
    std::uint32_t name(const Evictable& unit) const override;
    Evictable* find(std::uint32_t name) const override;
    // The hash of its object's, or its group's, name.
    std::uint64_t identity(const Evictable& unit) const override;

   private:
    const Catalog& catalog_;
  };
  void archive_unit(Archive& archive, Unit& unit);
  void archive_object(Archive& archive, Object& object);
  void archive_extras(Archive& archive, Extras& own, std::uint32_t slot);
  void archive_group(Archive& archive, Group& group, std::uint32_t slot);
  void add_object(const Object& object, Identity& identity, Time now) const;
  void add_order(Identity& identity) const;
  static void add_lease(const Lease& lease, Identity& identity, Time now);
  static Name name_of(const Object& object) { return name(object.tenant, object.key()); }
  Extras* extras(const Object& object) const;
  Extras& make_extras(Object& object);
  Object* newer(const Object& object) const;
  bool soft_pinned(const Object& object) const;
  Object* head(const Name& key) const;
  const Unit* find_unit(const Name& name) const;
  void complete(Object& object, const Publication& how, Bytes bytes);
  void resize(Object& object, Bytes bytes);
  // Counts the object, or does not any more, if it has one copy.
  enum class Counted : bool { no, yes };
  void count_only_copy(const Object& object, Counted counted);
  void join(Object& object, const Name& group);
  void leave(Object& object, Group& group);
  void resize(Unit& unit, Bytes bytes);
  // Puts the unit into the order, or takes it out, as its members and pins ask for.
  void place(Unit& unit, bool evictable, const EvictionOrder::Insertion& how);
  void place(Group& group, const Unit* parent);

  Names names_{*this};
  EvictionOrder order_;
  std::vector<std::string> tenants_;
  ObjectStore objects_;
  Slab<Extras> extras_;
  Slab<Group> groups_;
  // The COMPLETE version of each key if it has one, else the unfinished one.
  KeyIndex by_key_;
  boost::unordered_flat_set<Group*, GroupHash, GroupEqual> by_group_;
  Deadlines<std::uint32_t> expiries_;  // object slots
  Deadlines<std::uint32_t> soft_pins_;
  std::uint32_t lease_rounds_;
  std::size_t complete_ = 0;
  std::vector<std::uint32_t> only_in_;  // by segment
};

}  // namespace larder
