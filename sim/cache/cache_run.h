#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/eviction/policy.h"
#include "sim/cache/block_numbers.h"
#include "sim/cache/cache_point.h"

namespace larder::sim {

// One cache of one size under one of the core's policies, fed request by request (the definition is
// at CachePoint). O(1) for each block plus the policy's cost; memory: 8 bytes for each block number
// seen and 64 for each block held.
class CacheRun {
 public:
  // INVALID_PARAMS for an unknown policy.
  static Result<CacheRun> make(std::string_view policy, CacheBlocks blocks);

  void request(std::span<const BlockNumber> blocks);
  // Counts anew from here on; the cache stays as it is.
  void forget_counts();
  const CachePoint& point() const { return point_; }

 private:
  struct Block : Evictable {
    BlockNumber number = 0;
  };
  // The blocks that are held, by number.
  struct Held final : UnitNames {
    std::uint32_t name(const Evictable& unit) const override {
      return static_cast<const Block&>(unit).number;
    }
    Evictable* find(std::uint32_t name) const override { return blocks[name]; }
    std::uint64_t identity(const Evictable& unit) const override { return name(unit); }

    std::vector<Block*> blocks;
  };
  CacheRun(std::unique_ptr<Held> held, std::unique_ptr<EvictionPolicy> policy, CachePoint point);
  // The block as it stands in the cache now, or nullptr: bypassed.
  Block* insert(BlockNumber number, const Block* parent);

  std::unique_ptr<Held> held_;  // on the heap, since the policy refers to it
  std::unique_ptr<EvictionPolicy> policy_;
  std::deque<Block> blocks_;  // at most one more than the size
  Block* spare_ = nullptr;    // the one of them that is not held, once one has left
  CachePoint point_;
};

}  // namespace larder::sim
