#include "core/eviction/families.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>

#include "core/base/assert.h"

namespace larder {
namespace {

std::uint16_t depth_below(const Evictable& parent) {
  return static_cast<std::uint16_t>(std::min<int>(parent.depth + 1, Evictable::depth_max));
}

}  // namespace

Evictable* Families::parent(const Evictable& unit) const {
  if (unit.parent == Evictable::nobody) return nullptr;
  const auto odd = odd_.find(of_parent(unit));
  const std::uint32_t name = odd == odd_.end() ? unit.parent : odd->second.parent;
  return name == Evictable::nobody ? nullptr : names_.find(name);
}

void Families::join(Evictable& child, Evictable* parent) {
  child.depth = 0;
  if (parent == nullptr) return;
  child.depth = depth_below(*parent);
  if (parent->children == Evictable::children_max) return;
  const Reference reference = reference_to(*parent);
  child.parent = static_cast<std::uint32_t>(reference);
  child.by_alias = (reference & alias_bit) != 0;
  ++parent->children;
}

Families::Reference Families::reference_to(const Evictable& parent) {
  const std::uint32_t name = names_.name(parent);
  const auto known = aliases_.find(name);
  if (known != aliases_.end()) return known->second;
  if (!odd_.contains(name)) return name;
  while (odd_.contains(alias_bit | next_alias_)) ++next_alias_;
  const Reference alias = alias_bit | next_alias_++;
  aliases_.emplace(name, alias);
  odd_.emplace(alias, Family{.parent = name});
  return alias;
}

Evictable* Families::leave(Evictable& unit) {
  if (!is_leaf(unit)) orphan_children(unit);
  if (unit.parent == Evictable::nobody) return nullptr;
  const auto odd = odd_.find(of_parent(unit));
  Evictable* const above = parent(unit);
  unit.parent = Evictable::nobody;
  unit.by_alias = false;
  if (above == nullptr) {
    LARDER_ASSERT(odd != odd_.end(), "a parent that is here can be found");
    if (--odd->second.orphans == 0) odd_.erase(odd);
    return nullptr;
  }
  if (--above->children > 0) return nullptr;
  if (odd != odd_.end()) {
    aliases_.erase(odd->second.parent);
    odd_.erase(odd);
  }
  return above;
}

void Families::orphan_children(Evictable& parent) {
  const std::uint32_t name = names_.name(parent);
  const auto alias = aliases_.find(name);
  odd_[alias == aliases_.end() ? name : alias->second] = {.orphans = parent.children};
  aliases_.erase(name);
  parent.children = 0;
}

void Families::archive(Archive& archive) { archive(odd_, next_alias_); }

bool Families::restore(std::span<Evictable* const> units) {
  for (const auto& [reference, family] : odd_) {
    if (family.parent == Evictable::nobody) continue;
    const bool is_alias = (reference & alias_bit) != 0;
    if (!is_alias || !aliases_.emplace(family.parent, reference).second) return false;
  }
  for (const Evictable* unit : units) {
    if (!restore_child(*unit)) return false;
  }
  return std::ranges::all_of(odd_, [&](const auto& entry) {
    const Family& family = entry.second;
    if (family.parent == Evictable::nobody) return family.orphans > 0;
    const Evictable* const parent = names_.find(family.parent);
    return parent != nullptr && !is_leaf(*parent);
  });
}

bool Families::restore_child(const Evictable& child) {
  if (child.parent == Evictable::nobody) return !child.by_alias;
  const auto odd = odd_.find(of_parent(child));
  if (odd != odd_.end() && odd->second.parent == Evictable::nobody) {
    ++odd->second.orphans;
    return true;
  }
  if (odd == odd_.end() && (child.by_alias || aliases_.contains(child.parent))) return false;
  Evictable* const above = parent(child);
  if (above == nullptr || !above->in_policy() || above->place != child.place) return false;
  // Depth grows from parent to child, so none is above itself.
  if (child.depth != depth_below(*above) || above->children == Evictable::children_max)
    return false;
  ++above->children;
  return true;
}

void Families::check_invariants(std::span<Evictable* const> units) const {
  boost::unordered_flat_map<const Evictable*, std::uint32_t> children;
  std::map<Reference, std::uint32_t> orphans;
  for (const Evictable* unit : units) {
    if (unit->parent == Evictable::nobody) continue;
    const Evictable* const above = parent(*unit);
    LARDER_ASSERT(above == nullptr || unit->depth == depth_below(*above));
    above != nullptr ? ++children[above] : ++orphans[of_parent(*unit)];
  }
  std::size_t parents = 0;
  for (const Evictable* unit : units) {
    if (is_leaf(*unit)) continue;
    ++parents;
    LARDER_ASSERT(children[unit] == unit->children);
  }
  LARDER_ASSERT(children.size() == parents, "every parent is here, and counts its children");
  for (const auto& [reference, family] : odd_) {
    if (family.parent == Evictable::nobody) {
      LARDER_ASSERT(family.orphans > 0 && orphans[reference] == family.orphans);
    } else {
      LARDER_ASSERT(aliases_.at(family.parent) == reference);
      LARDER_ASSERT(!is_leaf(*names_.find(family.parent)));
    }
  }
  LARDER_ASSERT(orphans.size() + aliases_.size() == odd_.size());
}

}  // namespace larder
