#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/cache/block_numbers.h"
#include "sim/cache/cache_point.h"

namespace larder::sim {

// The hits of LRU in every size at once, exactly, from one pass: a block hits in the sizes that are
// at least its stack distance, the number of different blocks used since its last use, itself
// included (Mattson, Gecsei, Slutz, Traiger: Evaluation techniques for storage hierarchies, 1970).
// The distances come from a bit for the last use of each block, in order of time, with counts of
// the bits in a Fenwick tree: O(log blocks) for each access, 30 bytes or so for each different
// block, whatever the length of the trace.
class LruCurve {
 public:
  void request(std::span<const BlockNumber> blocks);
  // They are used, and not counted: what is put into a cache without being asked for.
  void touch(std::span<const BlockNumber> blocks);
  // Counts anew from here on; what was used stays used.
  void forget_counts();

  // Equal to what CacheRun finds for "lru" in this size. O(blocks).
  CachePoint at(CacheBlocks blocks) const;
  // The leading hits in each of these sizes, which ascend. O(blocks) for all of them.
  std::vector<std::uint64_t> leading_hits(std::span<const std::uint64_t> ascending) const;
  // How many different blocks there were: the curve is flat from this size on.
  std::uint64_t unique_blocks() const { return live_; }

 private:
  using Position = std::uint32_t;  // an instant of use; 0 is none
  std::uint64_t used_until(Position position) const;
  void mark(Position position);
  void unmark(Position position);
  // Moves this block to the newest position; its stack distance, 0 where it is new.
  std::uint64_t use(BlockNumber block);
  void make_room_for_distances();
  // Renumbers the positions without gaps, with as many free ones behind them.
  void compact();

  std::vector<Position> last_use_;       // by block
  std::vector<BlockNumber> used_block_;  // by position; stale where that block was used again
  std::vector<std::uint64_t> marks_;     // a bit for each position: the last use of its block
  std::vector<std::uint32_t> counts_;    // Fenwick tree over the words of marks_, from 1
  Position newest_ = 0;
  std::uint64_t live_ = 0;
  std::uint64_t accesses_ = 0;
  std::vector<std::uint64_t> hits_at_;     // by stack distance; [0] is the first uses
  std::vector<std::uint64_t> leading_at_;  // by the largest distance in the request so far
};

}  // namespace larder::sim
