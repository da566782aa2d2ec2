#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace larder::sim {

// How many blocks a cache holds; nothing means without limit.
using CacheBlocks = std::optional<std::uint64_t>;

// What one policy made of one trace in one size.
//
// Definition of a hit, the same for all policies: the cache starts empty; what a warm-up of so many
// requests does is not counted, and fills the cache all the same. The blocks of a request are
// looked up one after the other from its start, and each that is missing is inserted at once, with
// the block before it as its parent; then blocks leave, in the order of the policy, until the cache
// holds no more than its size. A block that is the first to leave at its own insertion is
// *bypassed*, and with it those behind it in its request, of which it would be the prefix: so a
// size of 0 holds nothing, and leaf-first keeps the start of a request that is longer than the
// cache (LRU and FIFO its end). Output tokens are not inserted.
struct CachePoint {
  std::string policy;
  CacheBlocks blocks;
  std::uint64_t accesses = 0;
  std::uint64_t hits = 0;
  std::uint64_t leading_hits = 0;  // where all blocks before it in its request hit too: usable KV
  std::uint64_t bypassed = 0;      // missing and not inserted

  // Hits over accesses; nothing where there was no access.
  std::optional<double> hit_ratio() const {
    if (accesses == 0) return std::nullopt;
    return static_cast<double>(hits) / static_cast<double>(accesses);
  }
  bool operator==(const CachePoint&) const = default;
};

}  // namespace larder::sim
