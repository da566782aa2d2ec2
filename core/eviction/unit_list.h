#pragma once

#include <boost/intrusive/circular_list_algorithms.hpp>
#include <cstddef>
#include <cstdint>

#include "core/eviction/evictable.h"

namespace larder {

// A list of units, strung on the links inside them. Every call is O(1) and allocates nothing.
class UnitList {
 public:
  UnitList() { Ring::init_header(&head_); }
  UnitList(const UnitList&) = delete;
  UnitList& operator=(const UnitList&) = delete;

  bool empty() const { return head_.first == &head_; }
  Evictable* front() const { return empty() ? nullptr : static_cast<Evictable*>(head_.first); }
  void push_back(Evictable& unit) { Ring::link_before(&head_, &unit); }
  void remove(Evictable& unit) { Ring::unlink(&unit); }
  // Calls visit(unit) from front to back.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const EvictionLinks* at = head_.first; at != &head_; at = at->first)
      visit(static_cast<const Evictable&>(*at));
  }
  // Asserts that the list holds `size` units of a policy, in order of their stamps, up to `newest`.
  void check_order(std::size_t size, std::uint64_t newest) const;

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

  EvictionLinks head_;
};

}  // namespace larder
