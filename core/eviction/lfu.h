#pragma once

#include "core/eviction/policy.h"
#include "core/eviction/unit_tree.h"

namespace larder {

// Least often used first, of those the least recently used. Uses are counted from when a unit came,
// up to 255. O(log n).
class LfuPolicy final : public EvictionPolicy {
 public:
  using EvictionPolicy::EvictionPolicy;

 private:
  std::uint64_t rank(const Evictable& unit) override { return unit.uses; }
  void used(Evictable& unit) override { move(unit); }
  void link(Evictable& unit) override { line_.insert(unit); }
  void unlink(Evictable& unit) override { line_.remove(unit); }
  Evictable* front() const override { return line_.front(); }
  void append_line(std::vector<Evictable*>& units) const override { line_.append_to(units); }
  void add_rest(Identity& identity) const override { add_uses(identity); }
  void check_line() const override { line_.check_order(); }

  UnitTree line_;
};

}  // namespace larder
