#pragma once

#include <algorithm>

#include "core/base/assert.h"
#include "core/eviction/list_policy.h"

namespace larder {

// A hand goes from the oldest to the newest unit and begins again: what was used since it last
// passed stays where it is, the others go. Unlike clock's, what stays does not count as new, so
// that what is used once leaves soon after the hand has caught up with it (Zhang et al., SIEVE is
// simpler than LRU, NSDI'24). A use costs no more than a note.
class SievePolicy final : public ListPolicy {
 public:
  using ListPolicy::ListPolicy;

 private:
  void unlink(Evictable& unit) override {
    if (hand_ == &unit) hand_ = line().next(unit);
    ListPolicy::unlink(unit);
  }
  Evictable* next(std::uint32_t& looks) override {
    if (hand_ == nullptr) hand_ = front();
    while (hand_ != nullptr && hand_->uses > 0) {
      if (looks == 0) return nullptr;
      --looks;
      hand_->uses = 0;
      hand_ = line().next(*hand_);
      if (hand_ == nullptr) hand_ = front();
    }
    return hand_;
  }
  void archive_rest(Archive& archive) override {
    hand_stamp_ = hand_ == nullptr ? 0 : hand_->stamp;
    archive(hand_stamp_);
  }
  bool restore(std::span<Evictable* const> units) override {
    for (Evictable* const unit : units) {
      if (unit->in_line() && unit->stamp == hand_stamp_) hand_ = unit;
    }
    return true;
  }
  void add_rest(Identity& identity) const override {
    add_uses(identity);
    std::vector<Evictable*> units;
    append_line(units);
    identity.add(static_cast<std::uint64_t>(std::ranges::find(units, hand_) - units.begin()));
  }
  void check_line() const override {
    ListPolicy::check_line();
    std::vector<Evictable*> units;
    append_line(units);
    LARDER_ASSERT(hand_ == nullptr || std::ranges::find(units, hand_) != units.end());
  }

  Evictable* hand_ = nullptr;     // nullptr: behind the newest
  std::uint64_t hand_stamp_ = 0;  // while it is loaded
};

}  // namespace larder
