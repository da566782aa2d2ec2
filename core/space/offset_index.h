#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace larder {

// An ordered map from the offset of a free range to its slot, for `Space` while it restores
// extents: sorted blocks of at most 256 entries under one sorted list of their first offsets.
// O(log n) to look up; a change moves a few cache lines of one block, and a split now and then the
// list. A million extents in random order are restored in about half of the time that it takes with
// std::map.
class OffsetIndex {
 public:
  // Precondition: no entry with this offset.
  void insert(std::uint64_t offset, std::uint32_t slot);
  // Precondition: there is one.
  void erase(std::uint64_t offset);
  // The slot with the largest offset that is not above `offset`.
  std::optional<std::uint32_t> floor(std::uint64_t offset) const;

  std::size_t size() const { return size_; }
  std::size_t memory() const;

 private:
  static constexpr std::size_t block_entries_max = 256;

  struct Entry {
    std::uint64_t offset = 0;
    std::uint32_t slot = 0;
  };
  using Block = std::vector<Entry>;  // sorted, never empty

  // The block whose span holds `offset`. Precondition: not empty.
  std::size_t block_of(std::uint64_t offset) const;

  std::vector<std::uint64_t> firsts_;  // firsts_[i] == blocks_[i].front().offset, sorted
  std::vector<Block> blocks_;
  std::size_t size_ = 0;
};

}  // namespace larder
