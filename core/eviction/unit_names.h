#pragma once

#include <cstdint>

#include "core/eviction/evictable.h"

namespace larder {

// How those who own units name them: for policies, which keep numbers in place of pointers.
class UnitNames {
 public:
  // The number by which find() knows a unit of a policy: below Evictable::nobody, the same all the
  // time, and another unit's once this one has left.
  virtual std::uint32_t name(const Evictable& unit) const = 0;
  // Nothing for a number that names nobody.
  virtual Evictable* find(std::uint32_t name) const = 0;
  // What tells a unit again that has left and comes back.
  virtual std::uint64_t identity(const Evictable& unit) const = 0;

 protected:
  ~UnitNames() = default;
};

}  // namespace larder
