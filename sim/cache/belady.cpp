#include "sim/cache/belady.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "core/base/assert.h"
#include "sim/cache/position_set.h"

namespace larder::sim {
namespace {

constexpr std::uint32_t never = 0xffffffff;

// For each access, when its block is used the next time.
std::vector<std::uint32_t> next_uses(std::span<const BlockNumber> accesses) {
  std::vector<std::uint32_t> next(accesses.size());
  std::vector<std::uint32_t> upcoming;  // by block
  for (std::size_t i = accesses.size(); i-- > 0;) {
    const BlockNumber block = accesses[i];
    if (block >= upcoming.size()) upcoming.resize(block + std::size_t{1}, never);
    next[i] = std::exchange(upcoming[block], static_cast<std::uint32_t>(i));
  }
  return next;
}

// The cache: which blocks it holds until when, the farthest next use on top.
class Held {
 public:
  explicit Held(CacheBlocks limit) : limit_(limit) {}

  bool contains(BlockNumber block) const { return block < until_.size() && until_[block] != 0; }
  // It is held, or has just come.
  void use(BlockNumber block, std::uint32_t next_use) {
    if (block >= until_.size()) until_.resize(block + std::size_t{1});
    if (until_[block] == 0) ++size_;
    until_[block] = next_use;
    by_next_use_.emplace(next_use, block);
  }
  // Whether `block`, which has just come, stays.
  bool make_room(BlockNumber block) {
    if (!limit_ || size_ <= *limit_) return true;
    // An entry counts if it tells of its block's last use.
    while (until_[by_next_use_.top().second] != by_next_use_.top().first) by_next_use_.pop();
    const BlockNumber leaver = by_next_use_.top().second;
    by_next_use_.pop();
    until_[leaver] = 0;
    --size_;
    return leaver != block;
  }

 private:
  CacheBlocks limit_;
  std::uint64_t size_ = 0;
  std::vector<std::uint32_t> until_;  // by block: its next use; 0: not held
  std::priority_queue<std::pair<std::uint32_t, BlockNumber>> by_next_use_;
};

// Likewise by tokens, of which it holds the first ones of each block.
class HeldTokens {
 public:
  HeldTokens(std::optional<std::uint64_t> limit, std::size_t blocks)
      : limit_(limit), blocks_(blocks) {}

  std::uint32_t of(BlockNumber block) const { return blocks_[block].tokens; }
  // It has come whole; then tokens leave until no more are held than fit.
  void use(BlockNumber block, std::uint32_t tokens, std::uint32_t next_use) {
    held_ += tokens - blocks_[block].tokens;
    blocks_[block] = {.tokens = tokens, .until = next_use};
    by_next_use_.emplace(next_use, block);
    while (limit_ && held_ > *limit_) drop(held_ - *limit_);
  }

 private:
  struct Block {
    std::uint32_t tokens = 0;
    std::uint32_t until = 0;
  };
  // So many tokens at most, of one block.
  void drop(std::uint64_t tokens) {
    const auto [until, number] = by_next_use_.top();
    Block& block = blocks_[number];
    // An entry counts if it tells of its block's last use, and that is still held.
    const bool counts = block.until == until;
    const std::uint32_t leaving =
        counts ? static_cast<std::uint32_t>(std::min<std::uint64_t>(tokens, block.tokens)) : 0;
    block.tokens -= leaving;
    held_ -= leaving;
    if (!counts || block.tokens == 0) by_next_use_.pop();
  }

  std::optional<std::uint64_t> limit_;
  std::uint64_t held_ = 0;
  std::vector<Block> blocks_;
  std::priority_queue<std::pair<std::uint32_t, BlockNumber>> by_next_use_;
};

}  // namespace

void Belady::request(std::span<const BlockNumber> blocks, Sizes sizes) {
  LARDER_ASSERT(blocks.empty() || sizes.input_tokens > (blocks.size() - 1) * sizes.block_tokens);
  request(blocks);
  std::uint64_t before = 0;
  for (const BlockNumber block : blocks) {
    const std::uint64_t tokens =
        std::min<std::uint64_t>(sizes.block_tokens, sizes.input_tokens - before);
    before += tokens;
    if (block >= tokens_.size()) tokens_.resize(block + std::size_t{1});
    tokens_[block] = std::max(tokens_[block], static_cast<std::uint32_t>(tokens));
  }
}

void Belady::touch(std::span<const BlockNumber> blocks) {
  touched_.resize(accesses_.size());
  touched_.resize(accesses_.size() + blocks.size(), true);
  accesses_.insert(accesses_.end(), blocks.begin(), blocks.end());
}

void Belady::request(std::span<const BlockNumber> blocks) {
  requests_.push_back(accesses_.size());
  accesses_.insert(accesses_.end(), blocks.begin(), blocks.end());
}

// Of stays that overlap, those that end first: each block stays from an access to the next one, if
// that is counted. At most as many as fit stay at the same time.
std::vector<std::uint64_t> Belady::most_hits(std::span<const std::uint64_t> sizes) const {
  const std::vector<std::uint32_t> next = next_uses(accesses_);
  const auto is_worth_staying = [&](std::uint32_t until) {
    return until != never && (until >= touched_.size() || !touched_[until]);
  };
  std::vector<std::uint64_t> hits;
  for (const std::uint64_t size : sizes) {
    PositionSet stays(accesses_.size());  // by where they end
    std::uint64_t& count = hits.emplace_back(0);
    for (std::size_t i = 0; i < accesses_.size(); ++i) {
      if (stays.contains(i)) {
        ++count;
        stays.erase(i);
      }
      if (!is_worth_staying(next[i])) continue;
      stays.insert(next[i]);
      if (stays.size() > size) stays.erase(stays.greatest());
    }
  }
  return hits;
}

CachePoint Belady::at(CacheBlocks blocks, std::vector<bool>* had) const {
  LARDER_ASSERT(touched_.empty());
  CachePoint point{.policy = "belady", .blocks = blocks};
  const std::vector<std::uint32_t> next = next_uses(accesses_);
  Held held(blocks);
  for (std::size_t r = 0; r < requests_.size(); ++r) {
    const std::size_t end = r + 1 < requests_.size() ? requests_[r + 1] : accesses_.size();
    const std::uint64_t counts = requests_[r] >= counted_from_ ? 1 : 0;
    bool leading = true;
    bool bypassing = false;
    for (std::size_t i = requests_[r]; i < end; ++i) {
      const BlockNumber block = accesses_[i];
      point.accesses += counts;
      if (had != nullptr) had->push_back(held.contains(block));
      if (held.contains(block)) {
        point.hits += counts;
        point.leading_hits += leading ? counts : 0;
        held.use(block, next[i]);
        continue;
      }
      leading = false;
      if (!bypassing) {
        held.use(block, next[i]);
        bypassing = !held.make_room(block);
      }
      point.bypassed += bypassing ? counts : 0;
    }
  }
  return point;
}

TokenPoint Belady::at_tokens(std::optional<std::uint64_t> capacity) const {
  LARDER_ASSERT(touched_.empty());
  TokenPoint point{.capacity = capacity};
  const std::vector<std::uint32_t> next = next_uses(accesses_);
  HeldTokens held(capacity, tokens_.size());
  for (std::size_t r = 0; r < requests_.size(); ++r) {
    const std::size_t end = r + 1 < requests_.size() ? requests_[r + 1] : accesses_.size();
    const std::uint64_t counts = requests_[r] >= counted_from_ ? 1 : 0;
    bool leading = true;
    for (std::size_t i = requests_[r]; i < end; ++i) {
      const BlockNumber block = accesses_[i];
      const std::uint32_t tokens = tokens_[block];
      const std::uint32_t there = held.of(block);
      point.accesses += counts * tokens;
      point.hits += counts * there;
      point.leading_hits += leading ? counts * there : 0;
      leading = leading && there == tokens;
      held.use(block, tokens, next[i]);
    }
  }
  return point;
}

}  // namespace larder::sim
