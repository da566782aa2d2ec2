#pragma once

#include "core/eviction/leaf_policy.h"

namespace larder {

// Of the leaves, the least often used first; of those what stands farthest behind in its prefix,
// since fewer requests can need it; of those the least recently used (Qin et al., Mooncake,
// FAST'25: LengthAwareCache).
class LengthAwarePolicy final : public LeafPolicy {
 public:
  using LeafPolicy::LeafPolicy;

 private:
  std::uint64_t rank(const Evictable& unit) override {
    return std::uint64_t{unit.uses} << 32 | (0xffffffff - unit.depth);
  }
  void add_rest(Identity& identity) const override {
    add_uses(identity);
    for (const Evictable* unit : units()) identity.add(unit->depth);
  }
};

}  // namespace larder
