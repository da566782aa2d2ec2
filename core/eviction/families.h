#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "core/base/archive.h"
#include "core/eviction/evictable.h"

namespace larder {

// Which units of a policy extend which. Parent and children find each other through a *family*,
// which this owns: so a parent goes in O(1) however many children it has, and no unit ever points
// to another one. 16 bytes for each unit that has children, amortized; every call is O(1).
class Families {
 public:
  // It has no children here.
  static bool is_leaf(const Evictable& unit) { return unit.own_family == Evictable::no_family; }
  // nullptr for a root.
  Evictable* parent(const Evictable& unit) const {
    return is_child(unit) ? families_[unit.parent_family].parent : nullptr;
  }
  // How many units stood before it in its prefix when it joined.
  std::uint32_t depth(const Evictable& unit) const {
    return is_child(unit) ? families_[unit.parent_family].depth : 0;
  }
  void join(Evictable& child, Evictable& parent);
  // Its children are roots from now on, though as deep as before. Returns its parent if that has no
  // other child, and is a leaf now.
  Evictable* leave(Evictable& unit);
  // The units that have children. O(n).
  void append_parents_to(std::vector<Evictable*>& units) const;

  // Without its units, each of which is restored after loading; false if it names no family here.
  void archive(Archive& archive);
  bool restore(Evictable& unit);
  void check_invariants() const;

 private:
  struct Family {
    Evictable* parent = nullptr;  // nullptr once it has left
    std::uint32_t children = 0;   // a family without children is free
    std::uint32_t depth = 0;      // of the children; of a free one: the next free one
  };
  static bool is_child(const Evictable& unit) { return unit.parent_family != Evictable::no_family; }

  std::deque<Family> families_;
  std::uint32_t free_ = Evictable::no_family;
};

}  // namespace larder
