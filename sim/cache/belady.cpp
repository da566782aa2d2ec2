#include "sim/cache/belady.h"

#include <algorithm>
#include <queue>
#include <utility>

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

}  // namespace

void Belady::request(std::span<const BlockNumber> blocks) {
  requests_.push_back(accesses_.size());
  accesses_.insert(accesses_.end(), blocks.begin(), blocks.end());
}

CachePoint Belady::at(CacheBlocks blocks) const {
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

}  // namespace larder::sim
