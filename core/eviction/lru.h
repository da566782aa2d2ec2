#pragma once

#include "core/eviction/list_policy.h"

namespace larder {

// Least recently used first.
class LruPolicy final : public ListPolicy {
 public:
  using ListPolicy::ListPolicy;

 private:
  void used(Evictable& unit) override { move(unit); }
};

}  // namespace larder
