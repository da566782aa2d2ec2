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
  // To whom it belongs in an EvictionOrder.
  enum class Place : std::uint8_t { none, normal, soft_pinned };
  // Where it stands: in no order; chosen, and waited for; passed over by a policy's round; in line,
  // or in the second line of a policy that has two.
  enum class Line : std::uint8_t { none, wanted, deferred, first, second };

  Evictable() = default;
  explicit Evictable(Bytes size) : bytes(size) {}
  Evictable(const Evictable&) = delete;
  Evictable& operator=(const Evictable&) = delete;

  Place place = Place::none;
  Line line = Line::none;
  std::uint8_t uses = 0;                 // as its policy counts them; it does not go beyond 255
  std::uint32_t own_family = no_family;  // the children that name this unit as their parent
  Bytes bytes;              // what its eviction would free; EvictionOrder::resize changes it
  std::uint64_t stamp = 0;  // its place in its line, as the policy counts it: lower ones go first
  std::uint32_t parent_family = no_family;  // the children among which this unit is

  // A policy has it.
  bool in_policy() const { return line >= Line::deferred; }
  bool in_line() const { return line >= Line::first; }
};
static_assert(sizeof(Evictable) == 56, "it is part of the bytes that each key costs the master");

}  // namespace larder
