#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/cache/block_numbers.h"
#include "sim/cache/cache_point.h"

namespace larder::sim {

// What one rule made of one trace in one size, by tokens: of bytes, as many as a token has.
struct TokenPoint {
  std::optional<std::uint64_t> capacity;  // nothing: without limit
  std::uint64_t accesses = 0;
  std::uint64_t hits = 0;
  std::uint64_t leading_hits = 0;  // with all tokens before them in their request

  bool operator==(const TokenPoint&) const = default;
};

// What no policy can exceed: with the future known, the block whose next use is farthest away
// leaves first, the one that has just come included (Belady, A study of replacement algorithms for
// a virtual-storage computer, 1966). In a trace whose requests share prefixes a block's next use is
// never after that of what stands behind it, so that what stays is closed under prefixes, and a hit
// always a leading hit. (In a trace that breaks the tree, a policy may have more *leading* hits
// than leading_hits here, but never more than `hits`.)
//
// at() counts blocks, all of one size. at_tokens() counts tokens, of which a block may have fewer
// than others: the last one of an input that does not fill it. To choose among blocks of several
// sizes is NP-hard; this is the bound of the same rule at single tokens, of which it keeps the
// first ones of a block where the last block that fits does not fit whole. Since every token is as
// large as every other one, no way to choose them has more hits, and a policy that keeps whole
// blocks is one such way: so no policy of whole blocks has more hit tokens (or bytes). What it does
// not bound is hits counted by blocks where sizes differ.
//
// It keeps 4 bytes for each access of the trace, unlike everything else here, 8 for each request,
// and 4 for each block.
class Belady {
 public:
  // All blocks of one size.
  void request(std::span<const BlockNumber> blocks);
  // Each of so many tokens, but for the last one, which has what is left of the input. A block that
  // comes with different sizes counts as the largest of them wherever it comes.
  // Precondition: the blocks before the last one are full.
  struct Sizes {
    std::uint64_t input_tokens = 0;
    std::uint32_t block_tokens = 0;
  };
  void request(std::span<const BlockNumber> blocks, Sizes sizes);
  // They can be kept from here on without having been asked for, and nothing is counted. Then only
  // most_hits() can be asked.
  void touch(std::span<const BlockNumber> blocks);
  // Only what comes from here on is counted; a second call moves the start on.
  void forget_counts() { counted_from_ = accesses_.size(); }
  // O(accesses log blocks).
  // With `had`: also, for each access in its order, whether its block was there.
  CachePoint at(CacheBlocks blocks, std::vector<bool>* had = nullptr) const;
  // For each size the most hits that any cache of so many blocks can have, which may keep what it
  // has been asked for or was touched, whatever stands before it: where requests do not begin at
  // the root of what they share, a prefix may be worth less than what is behind it. The same as
  // at() where they do. Counts all requests. O(accesses) for each size.
  std::vector<std::uint64_t> most_hits(std::span<const std::uint64_t> sizes) const;
  std::uint64_t accesses() const { return accesses_.size(); }
  // As at(), by tokens. Precondition: all requests came with sizes.
  TokenPoint at_tokens(std::optional<std::uint64_t> capacity) const;

 private:
  std::vector<BlockNumber> accesses_;
  std::vector<std::size_t> requests_;  // where each begins
  std::vector<bool> touched_;          // by access, as far as there were touches
  std::vector<std::uint32_t> tokens_;  // by block
  std::size_t counted_from_ = 0;
};

}  // namespace larder::sim
