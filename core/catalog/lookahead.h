#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <type_traits>

#include "core/base/assert.h"
#include "core/catalog/catalog.h"

namespace larder {

// The names of the keys of a list, asked for one after the other. They are hashed some at a time,
// and what those lead to in the catalog comes from memory at the same time: a lookup touches some
// ten cache lines, which a million objects keep out of every cache, so one by one they would take a
// microsecond each. The results do not depend on it, nor does it matter if the catalog changes.
template <class Item>
class Lookahead {
 public:
  // From the item number `first` on.
  Lookahead(const Catalog& catalog, TenantId tenant, std::span<const Item> items, std::size_t first)
      : catalog_(catalog), items_(items), tenant_(tenant), first_(first) {}

  // Of the i-th item. Precondition: i is that of the call before, or the next one.
  const Catalog::Name& operator[](std::size_t i) {
    if (i == first_ + count_) load(i);
    LARDER_ASSERT(i >= first_ && i < first_ + count_);
    return names_[i - first_];
  }

 private:
  static constexpr std::size_t names_at_once = 32;

  void load(std::size_t first) {
    first_ = first;
    count_ = std::min(names_at_once, items_.size() - first);
    for (std::size_t i = 0; i < count_; ++i) {
      names_[i] = Catalog::name(tenant_, items_[first + i].key);
    }
    catalog_.prefetch(std::span(names_).first(count_));
  }

  const Catalog& catalog_;
  std::span<const Item> items_;
  TenantId tenant_;
  std::size_t first_;
  std::size_t count_ = 0;
  std::array<Catalog::Name, names_at_once> names_;
};
template <class Items>
Lookahead(const Catalog&, TenantId, Items, std::size_t)
    -> Lookahead<std::remove_const_t<typename Items::value_type>>;

}  // namespace larder
