#pragma once

#include <boost/intrusive/rbtree_algorithms.hpp>
#include <deque>

#include "core/eviction/policy.h"
#include "core/eviction/unit_list.h"

namespace larder {

// Ends of prefixes first: a page whose successors are cached is worth more than they are, since it
// can be used without them but not they without it. Candidates are the units without children here
// (leaves), least recently used first. A unit that becomes a leaf again takes its place by its last
// use. insert, access, erase and defer are O(log leaves), victim is O(1).
//
// Parent and children find each other through a *family*, which the policy owns: so a parent goes
// in O(1) however many children it has, and no unit ever points to another one.
class LeafFirstPolicy final : public EvictionPolicy {
 public:
  LeafFirstPolicy();
  void insert(Evictable& unit, const Evictable* parent) override;
  void access(Evictable& unit) override;
  void erase(Evictable& unit) override;
  Evictable* victim() const override;
  void defer(Evictable& unit) override { access(unit); }
  std::uint64_t newest_stamp() const override { return stamp_; }
  const Evictable* parent(const Evictable& unit) const override {
    const bool has = unit.parent_family != Evictable::no_family;
    return has ? families_[unit.parent_family].parent : nullptr;
  }
  std::size_t size() const override { return leaves_ + inner_; }
  void archive(Archive& archive, const UnitNames& names) override;
  void restore(std::span<Evictable* const> units) override;
  void check_invariants() const override;

 private:
  struct Family {
    Evictable* parent = nullptr;  // nullptr once it was erased
    std::uint32_t children = 0;   // a family without children is free
    std::uint32_t next_free = Evictable::no_family;
  };
  struct Traits {
    using node = EvictionLinks;
    using node_ptr = EvictionLinks*;
    using const_node_ptr = const EvictionLinks*;
    using color = bool;
    static node_ptr get_parent(const_node_ptr n) { return n->first; }
    static void set_parent(node_ptr n, node_ptr parent) { n->first = parent; }
    static node_ptr get_left(const_node_ptr n) { return n->second; }
    static void set_left(node_ptr n, node_ptr left) { n->second = left; }
    static node_ptr get_right(const_node_ptr n) { return n->third; }
    static void set_right(node_ptr n, node_ptr right) { n->third = right; }
    static color get_color(const_node_ptr n) { return n->red; }
    static void set_color(node_ptr n, color c) { n->red = c; }
    static color black() { return false; }
    static color red() { return true; }
  };
  using Tree = boost::intrusive::rbtree_algorithms<Traits>;

  void add_leaf(Evictable& unit);
  void add_newest_leaf(Evictable& unit);
  void remove_leaf(Evictable& unit);
  void join(Evictable& child, Evictable& parent);
  void part(Evictable& child);

  EvictionLinks header_;  // of the tree of leaves, by stamp
  std::deque<Family> families_;
  std::uint32_t free_family_ = Evictable::no_family;
  std::uint64_t stamp_ = 0;
  std::size_t leaves_ = 0;
  std::size_t inner_ = 0;
};

}  // namespace larder
