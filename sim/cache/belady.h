#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/cache/block_numbers.h"
#include "sim/cache/cache_point.h"

namespace larder::sim {

// What no policy can exceed: with the future known, the block whose next use is farthest away
// leaves first, the one that has just come included (Belady, A study of replacement algorithms for
// a virtual-storage computer, 1966). In a trace whose requests share prefixes a block's next use is
// never after that of what stands behind it, so that what stays is closed under prefixes, and a hit
// always a leading hit.
//
// It keeps 4 bytes for each access of the trace, unlike everything else here.
class Belady {
 public:
  void request(std::span<const BlockNumber> blocks);
  // Only what comes from here on is counted; a second call moves the start on.
  void forget_counts() { counted_from_ = accesses_.size(); }
  // O(accesses log blocks).
  CachePoint at(CacheBlocks blocks) const;

 private:
  std::vector<BlockNumber> accesses_;
  std::vector<std::size_t> requests_;  // where each begins
  std::size_t counted_from_ = 0;
};

}  // namespace larder::sim
