#include "sim/capacity/page_book.h"

#include "core/base/assert.h"

namespace larder::sim {

PageBook::PageBook() : by_id_(0, Hash{&pages_}, Equal{&pages_}) {}

PageNumber PageBook::enter(std::uint64_t id) {
  if (const auto found = by_id_.find(Key{id}); found != by_id_.end()) return *found;
  LARDER_ASSERT(pages_.size() < 0x7fff'ffff);
  const auto page = static_cast<PageNumber>(pages_.size());
  pages_.push_back({.id = id, .parent = page, .fate = Fate::none, .under_way = false});
  by_id_.insert(page);
  return page;
}

PageNumber PageBook::number(const PoolPage& page) {
  const PageNumber number = enter(page.id);
  // A parent may have been named before by a child alone.
  if (page.parent != page.id && pages_[number].parent == number) {
    const PageNumber parent = enter(page.parent);
    pages_[number].parent = parent;
  }
  return number;
}

std::optional<PageNumber> PageBook::find(std::uint64_t id) const {
  const auto found = by_id_.find(Key{id});
  return found == by_id_.end() ? std::nullopt : std::optional(*found);
}

}  // namespace larder::sim
