#include "sim/exhaustive/moving.h"

#include "core/base/assert.h"

namespace larder::sim {

Moving::Moving(Transfer what, Time until, Completion& to)
    : transfer(std::move(what)), completion(&to), deadline(until) {
  if (!is_fill()) {
    LARDER_ASSERT(std::get<Read>(transfer).ranges.size() == 1, "one item an operation");
    return;
  }
  LARDER_ASSERT(std::get<Fill>(transfer).ranges.size() == 1, "one item an operation");
  item = fill_range().item;
  ObjectRecord& record = item.record;
  std::string* copy = texts;
  for (std::string_view* text : {&record.tenant, &record.key, &record.group, &record.parent}) {
    *text = *copy++ = *text;
  }
}

void Moving::add_identity(Identity& identity, Time now, std::uint64_t node_scope) const {
  identity.add(node).add(node_life).add(static_cast<std::uint64_t>(stage)).add(moved);
  identity.add(waits_at_client()).add(ending).add(node_gone).add(left_noticed);
  identity.until(waits_at_client() ? deadline : now, now);
  identity.name(Identity::Kind::fill, node_scope, fill.value);
  identity.name(Identity::Kind::read, node_scope, read.value);
  if (stage == Stage::answered) {
    identity.add(result ? 0 : static_cast<std::uint64_t>(result.error().code()));
    identity.add(checksum.has_value()).add(checksum.value_or(0));
  }
  if (is_fill() || !waits_at_client()) return;
  for (const Slice slice : read_range().into) {
    identity.add({reinterpret_cast<const char*>(slice.data()), slice.size()});
  }
}

}  // namespace larder::sim
