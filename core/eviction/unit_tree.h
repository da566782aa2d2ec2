#pragma once

#include <algorithm>
#include <boost/intrusive/rbtree_algorithms.hpp>
#include <vector>

#include "core/base/assert.h"
#include "core/eviction/evictable.h"

namespace larder {

// Units in the order of their stamps, strung on the links inside them; of equal stamps, in the
// order in which they came. front() is O(1), a unit that comes last O(1) amortized, everything else
// O(log units); nothing is allocated.
class UnitTree {
 public:
  UnitTree() { Tree::init_header(&header_); }
  UnitTree(const UnitTree&) = delete;
  UnitTree& operator=(const UnitTree&) = delete;

  Evictable* front() const { return unit_of(Tree::begin_node(&header_)); }
  void insert(Evictable& unit) {
    const EvictionLinks* const last = header_.third;
    if (last == &header_ || !before(&unit, last)) {
      Tree::push_back(&header_, &unit);
    } else {
      Tree::insert_equal_upper_bound(&header_, &unit, before);
    }
  }
  void remove(Evictable& unit) { Tree::erase(&header_, &unit); }
  // Its units from front to back. O(n).
  void append_to(std::vector<Evictable*>& units) const {
    EvictionLinks* at = Tree::begin_node(&header_);
    for (; at != &header_; at = Tree::next_node(at)) units.push_back(unit_of(at));
  }
  void check_order() const {
    std::vector<Evictable*> units;
    append_to(units);
    LARDER_ASSERT(std::ranges::is_sorted(units, {}, &Evictable::stamp));
  }

 private:
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

  static bool before(const EvictionLinks* a, const EvictionLinks* b) {
    return static_cast<const Evictable*>(a)->stamp < static_cast<const Evictable*>(b)->stamp;
  }
  Evictable* unit_of(EvictionLinks* links) const {
    return links == &header_ ? nullptr : static_cast<Evictable*>(links);
  }

  EvictionLinks header_;  // its right link (`third`) is the last unit
};

}  // namespace larder
