#include "core/eviction/watermarks.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "core/base/assert.h"

namespace larder {
namespace {

Bytes share(Bytes whole, double part) {
  return {static_cast<std::uint64_t>(static_cast<double>(whole.value) * part)};
}

}  // namespace

Status Watermarks::check() const {
  if (0 <= low && low <= high && high <= 1) return {};  // false for NaN too
  return failed(ErrorCode::invalid_params, "watermarks must be 0 <= low <= high <= 1, not low " +
                                               std::to_string(low) + ", high " +
                                               std::to_string(high));
}

Bytes bytes_to_free(const Watermarks& marks, const SpaceUse& use) {
  LARDER_ASSERT(use.quarantined <= use.allocated);
  const Bytes used = use.allocated - use.quarantined;
  const Bytes asked = used + use.waiting;
  Bytes goal;
  if (asked > share(use.capacity, marks.high)) goal = asked - share(use.capacity, marks.low);
  if (use.waiting > use.quarantined) goal = std::max(goal, use.waiting - use.quarantined);
  return std::min(goal, used);
}

}  // namespace larder
