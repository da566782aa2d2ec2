#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

namespace larder::sim {

// A second implementation of CachePoint's definition, with ordered containers and nothing of core.
class NaiveCache {
 public:
  NaiveCache(std::string policy, std::optional<std::uint64_t> blocks)
      : policy_(std::move(policy)), blocks_(blocks) {}

  std::uint64_t hits = 0;
  std::uint64_t leading_hits = 0;
  std::uint64_t bypassed = 0;

  void request(std::span<const std::uint32_t> blocks) {
    bool leading = true;
    bool bypassing = false;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const std::uint32_t block = blocks[i];
      if (held_.contains(block)) {
        ++hits;
        leading_hits += leading;
        if (policy_ != "fifo") move(block, ++clock_);
        continue;
      }
      leading = false;
      if (!bypassing) {
        add(block, i > 0 ? std::optional(blocks[i - 1]) : std::nullopt);
        if (blocks_ && held_.size() > *blocks_) {
          const std::uint32_t leaver = first_to_leave();
          remove(leaver);
          bypassing = leaver == block;
        }
      }
      bypassed += bypassing;
    }
  }

 private:
  struct Held {
    std::uint64_t place;
    std::optional<std::uint32_t> parent;
    std::set<std::uint32_t> children;
  };

  bool may_leave(const Held& held) const {
    return policy_ != "leaf-first" || held.children.empty();
  }
  std::uint32_t first_to_leave() const { return candidates_.begin()->second; }

  void move(std::uint32_t block, std::uint64_t place) {
    Held& held = held_.at(block);
    candidates_.erase({held.place, block});
    held.place = place;
    if (may_leave(held)) candidates_.emplace(place, block);
  }
  void add(std::uint32_t block, std::optional<std::uint32_t> parent) {
    held_[block] = {.place = ++clock_, .parent = parent, .children = {}};
    candidates_.emplace(clock_, block);
    if (!parent) return;
    held_.at(*parent).children.insert(block);
    move(*parent, held_.at(*parent).place);
  }
  void remove(std::uint32_t block) {
    const Held gone = held_.at(block);
    candidates_.erase({gone.place, block});
    held_.erase(block);
    for (const std::uint32_t child : gone.children) held_.at(child).parent.reset();
    if (!gone.parent) return;
    held_.at(*gone.parent).children.erase(block);
    move(*gone.parent, held_.at(*gone.parent).place);
  }

  std::string policy_;
  std::optional<std::uint64_t> blocks_;
  std::map<std::uint32_t, Held> held_;
  std::set<std::pair<std::uint64_t, std::uint32_t>> candidates_;
  std::uint64_t clock_ = 0;
};

}  // namespace larder::sim
