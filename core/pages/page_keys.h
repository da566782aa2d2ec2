#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/error.h"

namespace larder {

// All that must be equal for one engine's KV to be of use to another: it stands in each key, so
// that foreign KV never matches.
struct PageSpace {
  std::string tenant;    // may be empty
  std::string model;     // and
  std::string revision;  // which weights: of two revisions the KV differs
  std::string kv_type;   // of the numbers in the KV: "fp16", "fp8" ...
  std::uint32_t page_tokens = 0;
  std::string layout;           // of the bytes of a page: "page-first" ...
  std::uint32_t tp_size = 1;    // ranks that divide the heads
  std::uint32_t pp_size = 1;    // ranks that divide the layers
  std::uint32_t pp_rank = 0;    // whose layers are in the page
  bool keys_and_values = true;  // K and V are objects of their own; else (MLA) there is one
  // Whose heads are in the page. Nothing: those of all ranks, which share the page.
  std::optional<std::uint32_t> tp_rank;

  bool operator==(const PageSpace&) const = default;
};

// Stands for the tokens of a page and for all before it.
struct PageHash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const PageHash&) const = default;
};
// Of the page that holds these tokens behind `before` (PageHash{}: it is the first one): XXH3-128
// over both, each number as little-endian bytes. The same on every machine.
PageHash page_hash(PageHash before, std::span<const std::uint32_t> tokens);

// The names of the objects of pages. They are made here and nowhere else, so that who looks up and
// who writes cannot differ:
//
//   kv/TENANT/MODEL/REVISION/KV-TYPE/TOKENS/LAYOUT/tpRANK.SIZE/ppRANK.SIZE/HASH   the group
//   ... /k, /v or /kv                                                             its objects
//
// where a rank of all is `*`, and what could be taken for a part of the form stands as %XX: two
// spaces that differ have no key in common. The objects of a page are a group, so that they live
// and die together.
//
// Immutable, so any number of threads may ask.
class PageKeys {
 public:
  // Errors: invalid_params where a name or a size is missing, a rank is beyond its size, or keys
  // would be longer than objects' keys may be.
  static Result<PageKeys> make(const PageSpace& space);

  // Objects of a page: 2 or 1.
  std::size_t objects() const { return keys_and_values_ ? 2 : 1; }
  // Appends. Precondition: object < objects().
  void append_key(PageHash page, std::size_t object, std::string& text) const;
  void append_group(PageHash page, std::string& text) const;
  std::size_t key_bytes() const;  // the longest

 private:
  PageKeys(std::string prefix, bool keys_and_values)
      : prefix_(std::move(prefix)), keys_and_values_(keys_and_values) {}

  std::string prefix_;
  bool keys_and_values_;
};

}  // namespace larder
