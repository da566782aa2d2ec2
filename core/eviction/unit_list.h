#pragma once

#include <boost/intrusive/circular_list_algorithms.hpp>
#include <cstdint>
#include <vector>

#include "core/eviction/evictable.h"

namespace larder {

// A list of units, strung on the links inside them. Every call is O(1) and allocates nothing.
class UnitList {
 public:
  UnitList() { Ring::init_header(&head_); }
  UnitList(const UnitList&) = delete;
  UnitList& operator=(const UnitList&) = delete;

  bool empty() const { return head_.first == &head_; }
  Evictable* front() const { return unit_of(head_.first); }
  // The unit behind this one, which is in the list; nullptr behind the last.
  Evictable* next(const Evictable& unit) const { return unit_of(unit.first); }
  void push_back(Evictable& unit) { Ring::link_before(&head_, &unit); }
  void remove(Evictable& unit) { Ring::unlink(&unit); }
  // Takes over all units of `other`, behind its own.
  void take_all(UnitList& other) {
    if (!other.empty()) Ring::transfer(&head_, other.head_.first, &other.head_);
  }
  // Its units from front to back. O(n).
  void append_to(std::vector<Evictable*>& units) const {
    for (Evictable* unit = front(); unit != nullptr; unit = next(*unit)) units.push_back(unit);
  }
  // Asserts that it is linked well, and in order of stamps.
  void check_order() const;

 private:
  struct Traits {
    using node = EvictionLinks;
    using node_ptr = EvictionLinks*;
    using const_node_ptr = const EvictionLinks*;
    static node_ptr get_next(const_node_ptr n) { return n->first; }
    static void set_next(node_ptr n, node_ptr next) { n->first = next; }
    static node_ptr get_previous(const_node_ptr n) { return n->second; }
    static void set_previous(node_ptr n, node_ptr previous) { n->second = previous; }
  };
  using Ring = boost::intrusive::circular_list_algorithms<Traits>;

  Evictable* unit_of(EvictionLinks* links) const {
    return links == &head_ ? nullptr : static_cast<Evictable*>(links);
  }

  EvictionLinks head_;
};

}  // namespace larder
