#include "sim/cache/block_numbers.h"

#include <algorithm>
#include <bit>

#include "core/base/assert.h"

namespace larder::sim {
namespace {

// The table is for ids below so many, however few blocks there are, and below that many times the
// number of blocks.
constexpr std::uint64_t table_min = 1024;
constexpr std::uint64_t table_factor = 4;

}  // namespace

// From now on the table has a place for `id`. What was hashed and belongs there moves.
void BlockNumbers::enlarge_table(std::uint64_t id) {
  table_.resize(std::bit_ceil(std::max(table_min, id + 1)), unknown);
  boost::unordered::erase_if(others_, [&](const auto& entry) {
    if (entry.first >= table_.size()) return false;
    table_[entry.first] = entry.second;
    return true;
  });
}

BlockNumber& BlockNumbers::place_of(std::uint64_t id) {
  if (id < table_.size()) return table_[id];
  if (id / table_factor <= known_ || id < table_min) {
    enlarge_table(id);
    return table_[id];
  }
  return others_.try_emplace(id, unknown).first->second;
}

std::span<const BlockNumber> BlockNumbers::of(std::span<const workloads::BlockId> blocks) {
  answer_.resize(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    BlockNumber& number = place_of(blocks[i].value);
    if (number == unknown) number = known_++;
    answer_[i] = number;
  }
  LARDER_ASSERT(known_ < unknown);
  return answer_;
}

}  // namespace larder::sim
