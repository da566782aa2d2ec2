#include "core/eviction/unit_list.h"

#include "core/base/assert.h"

namespace larder {

void UnitList::check_order(std::size_t size, std::uint64_t newest) const {
  std::size_t seen = 0;
  std::uint64_t before = 0;
  for (const EvictionLinks* at = head_.first; at != &head_; at = at->first, ++seen) {
    const auto& unit = static_cast<const Evictable&>(*at);
    LARDER_ASSERT(at->first->second == at);
    LARDER_ASSERT(unit.in_policy);
    LARDER_ASSERT(before < unit.stamp);
    before = unit.stamp;
  }
  LARDER_ASSERT(seen == size);
  LARDER_ASSERT(before <= newest);
}

}  // namespace larder
