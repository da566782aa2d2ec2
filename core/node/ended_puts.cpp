#include "core/node/ended_puts.h"

#include <algorithm>

namespace larder {

void EndedPuts::begin_epoch(Epoch epoch) {
  floor_ = {.epoch = epoch, .counter = 0};
  extents_.clear();
}

void EndedPuts::add(const ExtentName& extent) {
  // What is of another epoch is refused for that.
  if (extent.put_id.epoch != floor_.epoch || extent.put_id < floor_) return;
  extents_.insert(extent);
  if (extents_.size() > entries_max_) raise_floor(extents_.begin()->put_id.plus(1));
}

void EndedPuts::raise_floor(PutId lowest_unfinished) {
  if (lowest_unfinished.epoch != floor_.epoch || lowest_unfinished <= floor_) return;
  floor_ = lowest_unfinished;
  extents_.erase(extents_.begin(), extents_.lower_bound({.put_id = floor_, .location = {}}));
}

bool EndedPuts::contains(const ExtentName& extent) const {
  if (extent.put_id.epoch != floor_.epoch) return false;
  return extent.put_id < floor_ || extents_.contains(extent);
}

}  // namespace larder
