#include "sim/cache/lru_curve.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/base/assert.h"

namespace larder::sim {
namespace {

constexpr std::uint32_t word_bits = 64;

std::uint64_t sum_up_to(const std::vector<std::uint64_t>& counts, CacheBlocks blocks) {
  const std::uint64_t last = std::min<std::uint64_t>(blocks.value_or(counts.size()),
                                                     counts.empty() ? 0 : counts.size() - 1);
  std::uint64_t sum = 0;
  for (std::uint64_t distance = 1; distance <= last; ++distance) sum += counts[distance];
  return sum;
}

}  // namespace

void LruCurve::request(std::span<const BlockNumber> blocks) {
  std::uint64_t farthest = 0;
  bool all_known = true;
  for (const BlockNumber block : blocks) {
    const std::uint64_t distance = use(block);
    make_room_for_distances();
    ++hits_at_[distance];
    all_known = all_known && distance > 0;
    farthest = std::max(farthest, distance);
    if (all_known) ++leading_at_[farthest];
  }
  accesses_ += blocks.size();
}

void LruCurve::touch(std::span<const BlockNumber> blocks) {
  for (const BlockNumber block : blocks) use(block);
}

void LruCurve::make_room_for_distances() {
  if (live_ < hits_at_.size()) return;
  const std::size_t size = std::max<std::size_t>({1024, 2 * hits_at_.size(), live_ + 1});
  hits_at_.resize(size);
  leading_at_.resize(size);
}

void LruCurve::forget_counts() {
  accesses_ = 0;
  std::ranges::fill(hits_at_, 0);
  std::ranges::fill(leading_at_, 0);
}

CachePoint LruCurve::at(CacheBlocks blocks) const {
  const std::uint64_t hits = sum_up_to(hits_at_, blocks);
  return {.policy = "lru",
          .blocks = blocks,
          .accesses = accesses_,
          .hits = hits,
          .leading_hits = sum_up_to(leading_at_, blocks),
          .bypassed = blocks == 0 ? accesses_ : 0};
}

std::vector<std::uint64_t> LruCurve::leading_hits(std::span<const std::uint64_t> ascending) const {
  std::vector<std::uint64_t> hits;
  std::uint64_t sum = 0;
  std::uint64_t distance = 1;
  for (const std::uint64_t size : ascending) {
    for (; distance <= size && distance < leading_at_.size(); ++distance) {
      sum += leading_at_[distance];
    }
    hits.push_back(sum);
  }
  return hits;
}

std::uint64_t LruCurve::use(BlockNumber block) {
  if (newest_ + std::size_t{1} >= used_block_.size()) compact();
  if (block >= last_use_.size()) last_use_.resize(block + std::size_t{1});
  std::uint64_t distance = 0;
  if (const Position last = last_use_[block]; last != 0) {
    distance = live_ - used_until(last) + 1;
    unmark(last);
  } else {
    ++live_;
  }
  last_use_[block] = ++newest_;
  used_block_[newest_] = block;
  mark(newest_);
  return distance;
}

void LruCurve::compact() {
  std::vector<BlockNumber> used(1);
  used.reserve(live_ + 1);
  for (Position at = 1; at <= newest_; ++at) {
    const BlockNumber block = used_block_[at];
    if (last_use_[block] != at) continue;
    last_use_[block] = static_cast<Position>(used.size());
    used.push_back(block);
  }
  newest_ = static_cast<Position>(used.size() - 1);
  LARDER_ASSERT(newest_ == live_);
  const std::size_t words = 16 + (2 * used.size() + word_bits - 1) / word_bits;
  used.resize(words * word_bits);
  used_block_ = std::move(used);

  marks_.assign(words, 0);
  counts_.assign(words + 1, 0);
  for (Position at = 1; at <= newest_; ++at) marks_[at / word_bits] |= 1ull << (at % word_bits);
  for (std::size_t i = 1; i <= words; ++i) {
    counts_[i] += static_cast<std::uint32_t>(std::popcount(marks_[i - 1]));
    if (const std::size_t above = i + (i & -i); above <= words) counts_[above] += counts_[i];
  }
}

std::uint64_t LruCurve::used_until(Position position) const {
  const std::size_t word = position / word_bits;
  const std::uint64_t until = ~0ull >> (word_bits - 1 - position % word_bits);
  std::uint64_t count = static_cast<std::uint64_t>(std::popcount(marks_[word] & until));
  for (std::size_t i = word; i > 0; i &= i - 1) count += counts_[i];
  return count;
}

void LruCurve::mark(Position position) {
  marks_[position / word_bits] |= 1ull << (position % word_bits);
  for (std::size_t i = position / word_bits + 1; i < counts_.size(); i += i & -i) ++counts_[i];
}

void LruCurve::unmark(Position position) {
  marks_[position / word_bits] &= ~(1ull << (position % word_bits));
  for (std::size_t i = position / word_bits + 1; i < counts_.size(); i += i & -i) --counts_[i];
}

}  // namespace larder::sim
