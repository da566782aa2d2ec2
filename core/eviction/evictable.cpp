#include "core/eviction/evictable.h"

namespace larder {

void Evictable::archive(Archive& archive) {
  Place to = place;
  Line at = line;
  bool alias = by_alias;
  archive(to, at, alias, depth, uses, bytes, stamp, parent);
  archive.require(to <= Place::soft_pinned && at <= Line::second, "a unit stands nowhere");
  if (!archive.loading() || !archive.good()) return;
  place = to;
  line = at;
  by_alias = alias;
}

}  // namespace larder
