#pragma once

#include "core/eviction/aged_policy.h"

namespace larder {

// What is cheapest to compute again goes first: worth is uses times the cost of a byte. A token
// costs its linear layers, which are the same for all, and its attention, which grows with what
// stands before it: so deep pages are worth more. Bytes and linear cost both grow with a page's
// tokens and cancel out.
class CostAwarePolicy final : public AgedPolicy {
 public:
  using AgedPolicy::AgedPolicy;

 private:
  // Attention costs as much as the linear layers from some 30,000 tokens (8 billion parameters) to
  // 50,000 (70 billion) on: here in pages of 512.
  static constexpr std::uint64_t linear_cost = 64;

  std::uint64_t worth(const Evictable& unit, std::uint64_t times) const override {
    return times * (linear_cost + unit.depth);
  }
};

}  // namespace larder
