#pragma once

#include <vector>

#include "core/eviction/policy.h"

namespace larder {

// What the policies share of which the line is one list: new units go to its back. O(1).
class ListPolicy : public EvictionPolicy {
 public:
  using EvictionPolicy::EvictionPolicy;

 protected:
  void link(Evictable& unit) final { line_.push_back(unit); }
  void unlink(Evictable& unit) override { line_.remove(unit); }
  Evictable* front() const final { return line_.front(); }
  void append_line(std::vector<Evictable*>& units) const final { line_.append_to(units); }
  void check_line() const override { line_.check_order(); }

  const UnitList& line() const { return line_; }

 private:
  UnitList line_;  // by stamp
};

}  // namespace larder
