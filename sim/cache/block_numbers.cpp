#include "sim/cache/block_numbers.h"

#include "core/base/assert.h"

namespace larder::sim {

std::span<const BlockNumber> BlockNumbers::of(std::span<const workloads::BlockId> blocks) {
  answer_.resize(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto next = static_cast<BlockNumber>(known_.size());
    answer_[i] = known_.try_emplace(blocks[i].value, next).first->second;
  }
  LARDER_ASSERT(known_.size() < 0xffff'ffff);
  return answer_;
}

}  // namespace larder::sim
