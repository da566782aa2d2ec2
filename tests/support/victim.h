#pragma once

#include <cstdint>
#include <limits>

#include "core/eviction/policy.h"

namespace larder {

// What would go first in a new round.
inline Evictable* first_victim(EvictionPolicy& policy) {
  policy.begin_round();
  std::uint32_t looks = std::numeric_limits<std::uint32_t>::max();
  return policy.victim(looks);
}

}  // namespace larder
