#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <span>
#include <vector>

#include "workloads/request.h"

namespace larder::sim {

// Stands for a block id within one study: 0, 1, 2 … in order of first appearance. So that each
// block of a trace is hashed once, however many caches it is then looked up in.
using BlockNumber = std::uint32_t;

// At most 2^32 - 2 different blocks. Memory: about 20 bytes for each.
class BlockNumbers {
 public:
  // The numbers of these blocks, in the same order; valid until the next call.
  std::span<const BlockNumber> of(std::span<const workloads::BlockId> blocks);

 private:
  boost::unordered_flat_map<std::uint64_t, BlockNumber> known_;
  std::vector<BlockNumber> answer_;
};

}  // namespace larder::sim
