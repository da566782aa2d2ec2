#pragma once

#include <cstddef>
#include <set>

#include "core/protocol/object.h"

namespace larder {

// The extents of the present epoch that were retired, or whose fill ended: a fill of one of them
// that comes late is refused (design: §5.3). The master says below which put id nothing is
// unfinished any more; what is below counts as ended without being remembered. When more than
// `entries_max` would be remembered, the lowest go in the same way: that refuses fills that might
// have been taken, and never takes one that must be refused.
class EndedPuts {
 public:
  explicit EndedPuts(std::size_t entries_max) : entries_max_(entries_max) {}

  // Forgets everything of the epoch before.
  void begin_epoch(Epoch epoch);
  void add(const ExtentName& extent);
  // Ignored if it is of another epoch, or lower than before.
  void raise_floor(PutId lowest_unfinished);
  bool contains(const ExtentName& extent) const;
  // The same without what is below the floor.
  bool remembers(const ExtentName& extent) const { return extents_.contains(extent); }

  // In their order.
  const std::set<ExtentName>& remembered() const { return extents_; }
  std::size_t size() const { return extents_.size(); }
  PutId floor() const { return floor_; }

 private:
  std::size_t entries_max_;
  PutId floor_;  // its epoch is the present one
  std::set<ExtentName> extents_;
};

}  // namespace larder
