#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "core/base/archive.h"
#include "core/eviction/evictable.h"
#include "core/eviction/unit_names.h"

namespace larder {

// Which units of a policy extend which. A child names its parent and a parent counts its children,
// both in their own records: no unit points to another one, and a parent goes in O(1) however many
// children it has.
//
// One that goes before its children leaves its name to them: while the last of them is here, the
// name means that parent, which is nobody, and a new unit that bears it is known to its own
// children by an *alias*. Only such families cost more than the records of their units: 64 bytes
// for orphans, 128 for an alias, and O(log such families) a call. Everything else is O(1).
class Families {
 public:
  explicit Families(const UnitNames& names) : names_(names) {}
  Families(const Families&) = delete;
  Families& operator=(const Families&) = delete;

  // It has no children here.
  static bool is_leaf(const Evictable& unit) { return unit.children == 0; }
  // nullptr for a root.
  Evictable* parent(const Evictable& unit) const;
  // `parent`: nullptr for a root. A child is one too, though as deep as it stands, if its parent
  // has Evictable::children_max of them.
  void join(Evictable& child, Evictable* parent);
  // Its children are roots from now on, though as deep as before. Returns its parent if that has no
  // other child, and is a leaf now.
  Evictable* leave(Evictable& unit);

  // Without its units, which are restored after loading, all at once: false if they do not fit.
  void archive(Archive& archive);
  bool restore(std::span<Evictable* const> units);
  // `units`: all that are here.
  void check_invariants(std::span<Evictable* const> units) const;

 private:
  // What a child names: an alias, or the name of a unit.
  using Reference = std::uint64_t;
  static constexpr Reference alias_bit = Reference{1} << 32;
  static Reference of_parent(const Evictable& child) {
    return child.parent | (child.by_alias ? alias_bit : 0);
  }
  // One to which its children refer by something else than the name of their parent.
  struct Family {
    void archive(Archive& archive) { archive(parent); }

    std::uint32_t parent = Evictable::nobody;  // its name; nobody once it has left
    std::uint32_t orphans = 0;                 // the children, once it has left
  };
  // By which a new child is to name it.
  Reference reference_to(const Evictable& parent);
  void orphan_children(Evictable& parent);
  bool restore_child(const Evictable& child);

  const UnitNames& names_;
  std::map<Reference, Family> odd_;
  std::map<std::uint32_t, Reference> aliases_;  // by the name of the parent
  std::uint32_t next_alias_ = 0;
};

}  // namespace larder
