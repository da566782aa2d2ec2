#pragma once

#include "core/eviction/list_policy.h"

namespace larder {

// Least recently used first.
class LruPolicy final : public ListPolicy {
  void used(Evictable& unit) override { move(unit); }
};

}  // namespace larder
