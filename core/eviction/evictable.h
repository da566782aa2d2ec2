#pragma once

#include <cstdint>

#include "core/base/archive.h"
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
  static constexpr std::uint32_t nobody = 0xffffffff;      // no name (UnitNames) is this
  static constexpr std::uint32_t children_max = 0xffffff;  // of one unit
  static constexpr std::uint16_t depth_max = 0xffff;
  // To whom it belongs in an EvictionOrder.
  enum class Place : std::uint8_t { none, normal, soft_pinned };
  // Where it stands: in no order; chosen, and waited for; passed over by a policy's round; in line,
  // or in the second line of a policy that has two.
  enum class Line : std::uint8_t { none, wanted, deferred, first, second };

  Evictable() = default;
  explicit Evictable(Bytes size) : bytes(size) {}
  Evictable(const Evictable&) = delete;
  Evictable& operator=(const Evictable&) = delete;

  Place place : 2 = Place::none;
  Line line : 3 = Line::none;
  bool by_alias : 1 = false;  // `parent` is an alias, and no name
  std::uint16_t depth =
      0;                  // how many units stood before it in its prefix when it came, or the most
  std::uint8_t uses = 0;  // as its policy counts them; it does not go beyond 255
  std::uint32_t children : 24 = 0;  // units that extend this one in its policy
  Bytes bytes;              // what its eviction would free; EvictionOrder::resize changes it
  std::uint64_t stamp = 0;  // its place in its line, as the policy counts it: lower ones go first
  std::uint32_t parent = nobody;  // the unit that it extends, as Families names it

  // A policy has it.
  bool in_policy() const { return line >= Line::deferred; }
  bool in_line() const { return line >= Line::first; }

  // All but the links and `children`, which its policy makes anew from the others.
  void archive(Archive& archive);
};
static_assert(sizeof(Evictable) == 56, "it is part of the bytes that each key costs the master");

}  // namespace larder
