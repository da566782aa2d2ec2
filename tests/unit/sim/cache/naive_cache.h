#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "tests/support/naive_policy.h"

namespace larder::sim {

// A second implementation of CachePoint's definition, with nothing of core.
class NaiveCache {
 public:
  NaiveCache(std::string policy, std::optional<std::uint64_t> blocks)
      : policy_(std::move(policy)), blocks_(blocks) {}

  std::uint64_t hits = 0;
  std::uint64_t leading_hits = 0;
  std::uint64_t bypassed = 0;

  void request(std::span<const std::uint32_t> blocks) {
    bool leading = true;
    bool bypassing = false;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const std::uint32_t block = blocks[i];
      if (policy_.contains(block)) {
        ++hits;
        leading_hits += leading;
        policy_.access(block);
        continue;
      }
      leading = false;
      if (!bypassing)
        bypassing = !stays(block, i > 0 ? std::optional(blocks[i - 1]) : std::nullopt);
      bypassed += bypassing;
    }
  }

 private:
  bool stays(std::uint32_t block, std::optional<std::uint32_t> parent) {
    policy_.insert(block, parent);
    if (!blocks_ || policy_.size() <= *blocks_) return true;
    policy_.begin_round();
    const std::uint32_t leaver = policy_.victim().value();
    policy_.erase(leaver);
    return leaver != block;
  }

  NaivePolicy policy_;
  std::optional<std::uint64_t> blocks_;
};

}  // namespace larder::sim
