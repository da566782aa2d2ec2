#include "core/eviction/families.h"

#include <utility>

#include "core/base/assert.h"

namespace larder {

void Families::join(Evictable& child, Evictable& parent) {
  if (is_leaf(parent)) {
    if (free_ == Evictable::no_family) {
      free_ = static_cast<std::uint32_t>(families_.size());
      families_.push_back({.depth = Evictable::no_family});
    }
    parent.own_family = free_;
    free_ = families_[free_].depth;
    families_[parent.own_family] = {.parent = &parent, .depth = depth(parent) + 1};
  }
  ++families_[parent.own_family].children;
  child.parent_family = parent.own_family;
}

Evictable* Families::leave(Evictable& unit) {
  if (!is_leaf(unit)) {
    families_[unit.own_family].parent = nullptr;
    unit.own_family = Evictable::no_family;
  }
  if (!is_child(unit)) return nullptr;
  const std::uint32_t index = std::exchange(unit.parent_family, Evictable::no_family);
  Family& family = families_[index];
  if (--family.children > 0) return nullptr;
  Evictable* const parent = family.parent;
  if (parent != nullptr) parent->own_family = Evictable::no_family;
  family = {.depth = std::exchange(free_, index)};
  return parent;
}

void Families::append_parents_to(std::vector<Evictable*>& units) const {
  for (const Family& family : families_) {
    if (family.parent != nullptr) units.push_back(family.parent);
  }
}

void Families::archive(Archive& archive) {
  archive(free_);
  archive.list(families_, [&](Family& family) { archive(family.depth); });
  archive.require(free_ == Evictable::no_family || free_ < families_.size(),
                  "no family is at that place");
}

bool Families::restore(Evictable& unit) {
  const auto known = [&](std::uint32_t family) {
    return family == Evictable::no_family || family < families_.size();
  };
  if (!known(unit.own_family) || !known(unit.parent_family)) return false;
  if (!is_leaf(unit)) families_[unit.own_family].parent = &unit;
  if (is_child(unit)) ++families_[unit.parent_family].children;
  return true;
}

void Families::check_invariants() const {
  std::size_t used = 0;
  for (std::uint32_t i = 0; i < families_.size(); ++i) {
    const Family& family = families_[i];
    used += family.children > 0 ? 1 : 0;
    if (family.parent == nullptr) continue;
    LARDER_ASSERT(family.children > 0);
    LARDER_ASSERT(family.parent->in_policy() && family.parent->own_family == i);
  }
  std::size_t free = 0;
  for (std::uint32_t at = free_; at != Evictable::no_family; at = families_[at].depth) {
    LARDER_ASSERT(families_[at].children == 0 && families_[at].parent == nullptr);
    LARDER_ASSERT(++free + used <= families_.size());
  }
  LARDER_ASSERT(free + used == families_.size());
}

}  // namespace larder
