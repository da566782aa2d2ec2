#include "core/space/space.h"

namespace larder {

// The ranges in their order, and which free one of each length is given out first.
void Space::add_identity(Identity& identity) const {
  identity.add(capacity_);
  std::uint32_t slot = edge;
  do {
    const Slot& range = slots_[slot];
    identity.add(range.offset()).add(static_cast<std::uint64_t>(range.state()));
    if (is_free(slot)) {
      identity.add(range.list_before == none ? ~std::uint64_t{0}
                                             : slots_[range.list_before].offset());
    }
    slot = range.after;
  } while (slot != edge);
}

}  // namespace larder
