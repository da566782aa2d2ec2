#pragma once

#include <cstdint>

#include "core/base/bytes.h"

namespace larder {

// The links with which a policy strings its units together: a list uses two, a tree three.
struct EvictionLinks {
  EvictionLinks* first = nullptr;
  EvictionLinks* second = nullptr;
  EvictionLinks* third = nullptr;
  bool red = false;

  // Starts to load what taking it out of a list will touch.
  void prefetch_neighbours() const {
    __builtin_prefetch(first, 1);
    __builtin_prefetch(second, 1);
  }
};

// What eviction orders and takes as a whole, a *unit*: a lone object, or a group. It is embedded in
// the catalog's record (as a base or a member), so that ordering allocates nothing, and must stay
// at its address while it is in an order. Whoever embeds it sets `bytes`; everything else belongs
// to the policy and to EvictionOrder.
struct Evictable : EvictionLinks {
  static constexpr std::uint32_t no_family = 0xffffffff;
  enum class Place : std::uint8_t { none, normal, soft_pinned, wanted };

  Evictable() = default;
  explicit Evictable(Bytes size) : bytes(size) {}
  Evictable(const Evictable&) = delete;
  Evictable& operator=(const Evictable&) = delete;

  bool in_policy = false;
  bool soft_pinned = false;
  Place place = Place::none;
  std::uint32_t own_family = no_family;  // the children that name this unit as their parent
  Bytes bytes;              // what its eviction would free; EvictionOrder::resize changes it
  std::uint64_t stamp = 0;  // its place in the order: when it was last inserted, used or deferred
  std::uint32_t parent_family = no_family;  // the children among which this unit is
};
static_assert(sizeof(Evictable) == 56, "it is part of the bytes that each key costs the master");

}  // namespace larder
