#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <span>
#include <vector>

#include "workloads/request.h"

namespace larder::sim {

// Stands for a block id within one study: 0, 1, 2 … in order of first appearance. So that each
// block of a trace is looked for once, however many caches it is then looked up in.
using BlockNumber = std::uint32_t;

// At most 2^32 - 2 different blocks. Ids that are about as large as there are blocks, as published
// traces and our own readers have them, are looked up in a table; all others are hashed. Memory: 4
// to 32 bytes for each block in the table, about 20 for each other one.
class BlockNumbers {
 public:
  // The numbers of these blocks, in the same order; valid until the next call.
  std::span<const BlockNumber> of(std::span<const workloads::BlockId> blocks);

 private:
  static constexpr BlockNumber unknown = 0xffff'ffff;
  BlockNumber& place_of(std::uint64_t id);
  void enlarge_table(std::uint64_t id);

  std::vector<BlockNumber> table_;  // by id
  boost::unordered_flat_map<std::uint64_t, BlockNumber> others_;
  BlockNumber known_ = 0;
  std::vector<BlockNumber> answer_;
};

}  // namespace larder::sim
