#include "core/eviction/leaf_first.h"

#include "core/base/assert.h"

namespace larder {
namespace {

bool older(const EvictionLinks* a, const EvictionLinks* b) {
  return static_cast<const Evictable*>(a)->stamp < static_cast<const Evictable*>(b)->stamp;
}

bool is_inner(const Evictable& unit) { return unit.own_family != Evictable::no_family; }

}  // namespace

LeafFirstPolicy::LeafFirstPolicy() { Tree::init_header(&header_); }

void LeafFirstPolicy::insert(Evictable& unit, const Evictable* parent) {
  LARDER_ASSERT(!unit.in_policy);
  LARDER_ASSERT(parent == nullptr || parent->in_policy);
  // Every unit in the policy came in by a mutable reference.
  if (parent != nullptr) join(unit, const_cast<Evictable&>(*parent));
  unit.in_policy = true;
  unit.stamp = ++stamp_;
  add_newest_leaf(unit);
}

void LeafFirstPolicy::access(Evictable& unit) {
  LARDER_ASSERT(unit.in_policy);
  unit.stamp = ++stamp_;
  if (is_inner(unit)) return;
  Tree::erase(&header_, &unit);
  Tree::push_back(&header_, &unit);
}

void LeafFirstPolicy::erase(Evictable& unit) {
  LARDER_ASSERT(unit.in_policy);
  unit.in_policy = false;
  if (is_inner(unit)) {
    families_[unit.own_family].parent = nullptr;
    unit.own_family = Evictable::no_family;
    --inner_;
  } else {
    remove_leaf(unit);
  }
  if (unit.parent_family != Evictable::no_family) part(unit);
}

Evictable* LeafFirstPolicy::victim() const {
  return leaves_ == 0 ? nullptr : static_cast<Evictable*>(Tree::begin_node(&header_));
}

void LeafFirstPolicy::add_leaf(Evictable& unit) {
  Tree::insert_equal_upper_bound(&header_, &unit, older);
  ++leaves_;
}

void LeafFirstPolicy::add_newest_leaf(Evictable& unit) {
  Tree::push_back(&header_, &unit);
  ++leaves_;
}

void LeafFirstPolicy::remove_leaf(Evictable& unit) {
  Tree::erase(&header_, &unit);
  --leaves_;
}

void LeafFirstPolicy::join(Evictable& child, Evictable& parent) {
  if (!is_inner(parent)) {
    remove_leaf(parent);
    ++inner_;
    if (free_family_ == Evictable::no_family) {
      free_family_ = static_cast<std::uint32_t>(families_.size());
      families_.emplace_back();
    }
    parent.own_family = free_family_;
    free_family_ = families_[parent.own_family].next_free;
    families_[parent.own_family] = Family{.parent = &parent};
  }
  ++families_[parent.own_family].children;
  child.parent_family = parent.own_family;
}

void LeafFirstPolicy::part(Evictable& child) {
  const std::uint32_t index = child.parent_family;
  child.parent_family = Evictable::no_family;
  Family& family = families_[index];
  if (--family.children > 0) return;
  if (family.parent != nullptr) {
    family.parent->own_family = Evictable::no_family;
    --inner_;
    add_leaf(*family.parent);
  }
  family = Family{.next_free = free_family_};
  free_family_ = index;
}

void LeafFirstPolicy::archive(Archive& archive, const UnitNames& names) {
  archive(stamp_, free_family_);
  archive.list(families_, [&](Family& family) {
    std::uint32_t parent = family.parent == nullptr ? UnitNames::none : names.name(*family.parent);
    archive(parent, family.children, family.next_free);
    if (archive.loading() && parent != UnitNames::none) family.parent = names.find(parent);
  });
}

// Units without children are the leaves.
void LeafFirstPolicy::restore(std::span<Evictable* const> units) {
  for (Evictable* unit : units) {
    if (is_inner(*unit)) {
      ++inner_;
    } else {
      add_newest_leaf(*unit);
    }
  }
}

void LeafFirstPolicy::check_invariants() const {
  std::size_t leaves = 0;
  std::uint64_t before = 0;
  for (auto at = Tree::begin_node(&header_); at != &header_; at = Tree::next_node(at), ++leaves) {
    const auto& unit = static_cast<const Evictable&>(*at);
    LARDER_ASSERT(unit.in_policy && !is_inner(unit));
    LARDER_ASSERT(before < unit.stamp);
    before = unit.stamp;
  }
  LARDER_ASSERT(leaves == leaves_);
  LARDER_ASSERT(before <= stamp_);

  std::size_t inner = 0;
  std::uint64_t children = 0;
  for (std::size_t i = 0; i < families_.size(); ++i) {
    const Family& family = families_[i];
    children += family.children;
    if (family.parent == nullptr) continue;
    ++inner;
    LARDER_ASSERT(family.children > 0);
    LARDER_ASSERT(family.parent->in_policy && family.parent->own_family == i);
    LARDER_ASSERT(family.parent->stamp <= stamp_);
  }
  LARDER_ASSERT(inner == inner_);
  LARDER_ASSERT(children <= size());

  std::size_t free = 0;
  for (std::uint32_t at = free_family_; at != Evictable::no_family; at = families_[at].next_free) {
    LARDER_ASSERT(families_[at].children == 0 && families_[at].parent == nullptr);
    ++free;
    LARDER_ASSERT(free <= families_.size());
  }
}

}  // namespace larder
