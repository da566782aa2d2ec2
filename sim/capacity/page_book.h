#pragma once

#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/serving/page_pool.h"

namespace larder::sim {

// Stands for a page within one pool: 0, 1, 2 ... in the order in which they are first named.
using PageNumber = std::uint32_t;

// What became of each page that was ever named, so that a miss can be explained: what happened to
// it last. 16 bytes for each distinct page and 7 to 12 of the index, whatever the length of the
// trace.
class PageBook {
 public:
  enum class Fate : std::uint8_t { none, stored, evicted, lost, refused, fragmented };

  PageBook();
  PageBook(const PageBook&) = delete;
  PageBook& operator=(const PageBook&) = delete;

  // Its number; it is entered, and its parent too, when it is first named.
  // At most 2^31 - 1 different pages.
  PageNumber number(const PoolPage& page);
  std::optional<PageNumber> find(std::uint64_t id) const;
  std::uint32_t pages() const { return static_cast<std::uint32_t>(pages_.size()); }

  std::uint64_t id(PageNumber page) const { return pages_[page].id; }
  // The page before it; itself for the first of a prompt.
  PageNumber parent(PageNumber page) const { return pages_[page].parent; }
  Fate fate(PageNumber page) const { return pages_[page].fate; }
  bool under_way(PageNumber page) const { return pages_[page].under_way; }

  void set_under_way(PageNumber page, bool under_way) { pages_[page].under_way = under_way; }
  void set_fate(PageNumber page, Fate fate) { pages_[page].fate = fate; }
  // An object of it left. Counts only while the page was whole: what goes of one that was refused
  // in part, or of which another put is under way, does not change why it is missing.
  void took_away(PageNumber page, Fate fate) {
    Page& entry = pages_[page];
    if (entry.fate == Fate::stored && !entry.under_way) entry.fate = fate;
  }

 private:
  struct Page {
    std::uint64_t id;
    PageNumber parent;
    Fate fate;
    bool under_way;  // some put of it
  };
  static_assert(sizeof(Page) == 16);
  struct Key {
    std::uint64_t id;
  };
  // Pages are found by their ids, which stand in pages_ alone.
  struct Hash {
    using is_transparent = void;
    using is_avalanching = void;
    const std::vector<Page>* pages;
    std::size_t operator()(PageNumber page) const { return (*this)(Key{(*pages)[page].id}); }
    std::size_t operator()(Key key) const {
      const std::uint64_t x = (key.id ^ key.id >> 32) * 0x9e3779b97f4a7c15u;
      return (x ^ x >> 29) * 0xd6e8feb86659fd93u;
    }
  };
  struct Equal {
    using is_transparent = void;
    const std::vector<Page>* pages;
    bool operator()(PageNumber a, PageNumber b) const { return a == b; }
    bool operator()(Key key, PageNumber page) const { return key.id == (*pages)[page].id; }
    bool operator()(PageNumber page, Key key) const { return key.id == (*pages)[page].id; }
  };
  PageNumber enter(std::uint64_t id);

  std::vector<Page> pages_;
  boost::unordered_flat_set<PageNumber, Hash, Equal> by_id_;
};

}  // namespace larder::sim
