#include "core/eviction/aged_policy.h"

#include <algorithm>
#include <optional>

namespace larder {

void AgedPolicy::admit(Evictable& unit, const Evictable* parent) {
  LeafPolicy::admit(unit, parent);
  const std::optional<std::uint8_t> before = departed_.take(names().identity(unit));
  if (!before) return;
  count_use(unit, *before);
  count_use(unit);  // that it was asked for again
}

void AgedPolicy::left(Evictable& unit, bool was_front) {
  LeafPolicy::left(unit, was_front);
  if (!was_front) return;
  floor_ = std::max(floor_, unit.stamp);
  departed_.remember(names().identity(unit), unit.uses, size());
}

void AgedPolicy::archive_rest(Archive& archive) {
  LeafPolicy::archive_rest(archive);
  archive(departed_, floor_);
}

void AgedPolicy::add_rest(Identity& identity) const {
  add_uses(identity);
  for (const Evictable* unit : units()) identity.add(unit->stamp - floor_).add(worth(*unit, 1));
  departed_.add_identity(identity);
}

}  // namespace larder
