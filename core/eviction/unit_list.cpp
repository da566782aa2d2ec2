#include "core/eviction/unit_list.h"

#include "core/base/assert.h"

namespace larder {

void UnitList::check_order() const {
  std::uint64_t before = 0;
  for (const Evictable* unit = front(); unit != nullptr; unit = next(*unit)) {
    LARDER_ASSERT(unit->first->second == unit);
    LARDER_ASSERT(before < unit->stamp);
    before = unit->stamp;
  }
}

}  // namespace larder
