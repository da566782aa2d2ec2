#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/archive.h"

namespace larder {

// From the hash of a key to the slot of its object: ordered hash tables with linear probing
// (Amble, Knuth: "Ordered hash tables", The Computer Journal 17(2), 1974).
//
// An entry is the upper half of the hash and the slot, so that nearly always only the right object
// is touched, and a lookup of what is not there touches none. Entries stand in the order of their
// hashes, each as near behind its home as that allows; a search ends at the first larger one.
//
// The upper 7 bits choose one of 128 parts. Each grows by a quarter when it is four fifths full, so
// an entry costs 10 to 12.5 bytes, and growing costs neither a long wait nor a second table: with
// ten million keys a part was copied in 0.4 ms on average and 2.3 ms at most, beside other work.
//
// Confined to one thread. Costs: a cache line or two of memory that is next to each other.
class KeyIndex {
 public:
  static constexpr std::uint32_t none = 0xffffffff;

  // The slot with this hash for which matches(slot) says that it has the key; else `none`.
  template <class Matches>
  std::uint32_t find(std::uint64_t hash, Matches matches) const {
    const std::uint32_t tag = tag_of(hash);
    const Part& part = part_of(tag);
    for (std::size_t i = part.first(tag); part.entries[i].is(tag); ++i) {
      if (matches(part.entries[i].slot)) return part.entries[i].slot;
    }
    return none;
  }
  // A slot that find() would ask about, else `none`.
  std::uint32_t candidate(std::uint64_t hash) const {
    const std::uint32_t tag = tag_of(hash);
    const Part& part = part_of(tag);
    const Entry& entry = part.entries[part.first(tag)];
    return entry.is(tag) ? entry.slot : none;
  }
  // Starts to load what find() will look at.
  void prefetch(std::uint64_t hash) const {
    const std::uint32_t tag = tag_of(hash);
    const Part& part = part_of(tag);
    __builtin_prefetch(&part.entries[part.home(tag)]);
  }

  void insert(std::uint64_t hash, std::uint32_t slot);
  // Preconditions: `slot` is there with this hash.
  void erase(std::uint64_t hash, std::uint32_t slot);
  void replace(std::uint64_t hash, std::uint32_t slot, std::uint32_t by);

  std::size_t size() const;
  void archive(Archive& archive);
  void check_invariants() const;

 private:
  struct Entry {
    std::uint32_t tag = 0;
    std::uint32_t slot = none;

    bool is(std::uint32_t other) const { return slot != none && tag == other; }
  };
  static constexpr std::size_t part_bits = 7;
  static constexpr std::uint32_t home_places_min = 8;

  // The homes, and an overhang for what stands behind the last one. The last entry is vacant.
  struct Part {
    std::uint32_t home_places = 0;
    std::uint32_t size = 0;
    std::vector<Entry> entries = std::vector<Entry>(1);

    // The bits of the tag that are not the part's number, in proportion.
    std::size_t home(std::uint32_t tag) const {
      return std::uint64_t{tag << part_bits} * home_places >> 32;
    }
    // The first entry that is not below the tag, or the vacant one where it would stand.
    std::size_t first(std::uint32_t tag) const {
      std::size_t i = home(tag);
      while (entries[i].slot != none && entries[i].tag < tag) ++i;
      return i;
    }
    std::size_t find(std::uint32_t tag, std::uint32_t slot) const;
    void insert(Entry entry);
    void erase(std::size_t at);
    void grow();
    bool is_whole() const;
    void check_invariants(std::size_t number) const;
  };

  static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }
  const Part& part_of(std::uint32_t tag) const { return parts_[tag >> (32 - part_bits)]; }
  Part& part_of(std::uint32_t tag) { return parts_[tag >> (32 - part_bits)]; }

  std::array<Part, std::size_t{1} << part_bits> parts_;
};

}  // namespace larder
