#pragma once

#include "core/eviction/aged_policy.h"

namespace larder {

// LFU with dynamic aging: each use is worth the same (Arlitt et al., Evaluating content management
// techniques for Web proxy caches, 2000).
class LfuDaPolicy final : public AgedPolicy {
 public:
  using AgedPolicy::AgedPolicy;

 private:
  std::uint64_t worth(const Evictable&, std::uint64_t times) const override { return times; }
};

}  // namespace larder
