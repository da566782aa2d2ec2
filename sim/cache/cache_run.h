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
  CacheRun(std::unique_ptr<EvictionPolicy> policy, CachePoint point);
  static std::uint64_t identify(const Evictable& unit) {
    return static_cast<const Block&>(unit).number;
  }
  // The block as it stands in the cache now, or nullptr: bypassed.
  Block* insert(BlockNumber number, const Block* parent);

  std::unique_ptr<EvictionPolicy> policy_;
  std::deque<Block> blocks_;  // at most one more than the size
  Block* spare_ = nullptr;    // the one of them that is not held, once one has left
  std::vector<Block*> held_;  // by number
  CachePoint point_;
};

}  // namespace larder::sim
