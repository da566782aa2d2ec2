#pragma once

#include "core/eviction/leaf_policy.h"

namespace larder {

// Of the leaves, the least recently used first.
class LeafFirstPolicy final : public LeafPolicy {
 public:
  using LeafPolicy::LeafPolicy;
};

}  // namespace larder
