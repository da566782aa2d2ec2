#include "sim/cache/cache_run.h"

#include <limits>
#include <string>
#include <utility>

namespace larder::sim {

Result<CacheRun> CacheRun::make(std::string_view policy, CacheBlocks blocks) {
  auto held = std::make_unique<Held>();
  LARDER_TRY(auto made, make_policy(policy, *held));
  return CacheRun(std::move(held), std::move(made),
                  CachePoint{.policy = std::string(policy), .blocks = blocks});
}

CacheRun::CacheRun(std::unique_ptr<Held> held, std::unique_ptr<EvictionPolicy> policy,
                   CachePoint point)
    : held_(std::move(held)), policy_(std::move(policy)), point_(std::move(point)) {}

void CacheRun::request(std::span<const BlockNumber> blocks) {
  const Block* before = nullptr;
  std::vector<Block*>& held = held_->blocks;
  bool leading = true;
  bool bypassing = false;
  for (const BlockNumber number : blocks) {
    if (number >= held.size()) held.resize(number + std::size_t{1});
    Block* const block = held[number];
    if (block != nullptr) {
      ++point_.hits;
      if (leading) ++point_.leading_hits;
      policy_->access(*block);
      before = block;
      continue;
    }
    leading = false;
    if (!bypassing) before = insert(number, before);
    bypassing = bypassing || before == nullptr;
    if (bypassing) ++point_.bypassed;
  }
  point_.accesses += blocks.size();
}

void CacheRun::forget_counts() { point_ = {.policy = point_.policy, .blocks = point_.blocks}; }

CacheRun::Block* CacheRun::insert(BlockNumber number, const Block* parent) {
  Block* const block = spare_ != nullptr ? std::exchange(spare_, nullptr) : &blocks_.emplace_back();
  block->number = number;
  held_->blocks[number] = block;
  policy_->insert(*block, parent);
  if (!point_.blocks || policy_->size() <= *point_.blocks) return block;

  policy_->begin_round();
  std::uint32_t looks = std::numeric_limits<std::uint32_t>::max();
  auto* const leaver = static_cast<Block*>(policy_->victim(looks));
  policy_->erase(*leaver);
  held_->blocks[leaver->number] = nullptr;
  spare_ = leaver;
  return leaver == block ? nullptr : block;
}

}  // namespace larder::sim
