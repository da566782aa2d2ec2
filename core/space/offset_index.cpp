#include "core/space/offset_index.h"

#include <algorithm>
#include <iterator>

#include "core/base/assert.h"

namespace larder {

std::size_t OffsetIndex::block_of(std::uint64_t offset) const {
  const auto above = std::ranges::upper_bound(firsts_, offset);
  return above == firsts_.begin() ? 0 : static_cast<std::size_t>(above - firsts_.begin()) - 1;
}

void OffsetIndex::insert(std::uint64_t offset, std::uint32_t slot) {
  ++size_;
  if (blocks_.empty()) {
    blocks_.push_back({{.offset = offset, .slot = slot}});
    firsts_.push_back(offset);
    return;
  }
  const std::size_t b = block_of(offset);
  Block& block = blocks_[b];
  const auto at = std::ranges::lower_bound(block, offset, {}, &Entry::offset);
  LARDER_ASSERT(at == block.end() || at->offset != offset);
  block.insert(at, {.offset = offset, .slot = slot});
  firsts_[b] = block.front().offset;
  if (block.size() <= block_entries_max) return;
  const auto middle = block.begin() + block_entries_max / 2;
  Block upper;
  upper.reserve(block_entries_max + 1);
  upper.assign(middle, block.end());
  block.erase(middle, block.end());
  const auto next = static_cast<std::ptrdiff_t>(b) + 1;
  firsts_.insert(firsts_.begin() + next, upper.front().offset);
  blocks_.insert(blocks_.begin() + next, std::move(upper));
}

void OffsetIndex::erase(std::uint64_t offset) {
  LARDER_ASSERT(!blocks_.empty());
  const std::size_t b = block_of(offset);
  Block& block = blocks_[b];
  const auto at = std::ranges::lower_bound(block, offset, {}, &Entry::offset);
  LARDER_ASSERT(at != block.end() && at->offset == offset);
  block.erase(at);
  --size_;
  if (!block.empty()) {
    firsts_[b] = block.front().offset;
    return;
  }
  firsts_.erase(firsts_.begin() + static_cast<std::ptrdiff_t>(b));
  blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(b));
}

std::optional<std::uint32_t> OffsetIndex::floor(std::uint64_t offset) const {
  if (blocks_.empty() || offset < firsts_.front()) return std::nullopt;
  const Block& block = blocks_[block_of(offset)];
  return std::prev(std::ranges::upper_bound(block, offset, {}, &Entry::offset))->slot;
}

std::size_t OffsetIndex::memory() const {
  std::size_t bytes = firsts_.size() * (sizeof(std::uint64_t) + sizeof(Block));
  for (const Block& block : blocks_) bytes += block.capacity() * sizeof(Entry);
  return bytes;
}

}  // namespace larder
