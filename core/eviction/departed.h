#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "core/base/archive.h"
#include "core/base/identity.h"

namespace larder {

// How often units had been used when they left, by name: of as many as the policy has units, the
// last that left. A hash table of buckets, each of one cache line, in which the oldest entry makes
// room; it grows bucket by bucket (linear hashing), so that no call takes long. Names are cut to 32
// bits: among a million, one stranger in 4,000 is taken for one of them. O(1), 6 bytes a unit.
class Departed {
 public:
  // `units`: how many the policy has.
  void remember(std::uint64_t name, std::uint8_t uses, std::size_t units);
  // Its uses, if it is known; forgets it.
  std::optional<std::uint8_t> take(std::uint64_t name);

  void archive(Archive& archive) {
    archive(buckets_);
    if (!archive.require(!buckets_.empty(), "there is no bucket")) buckets_.resize(1);
  }
  void add_identity(Identity& identity) const;

 private:
  static constexpr std::size_t entries_max = 12;
  struct Entry {
    std::uint32_t name = 0;
    std::uint8_t uses = 0;
  };
  struct Bucket {
    void push(Entry entry);
    void erase(std::size_t index);
    Entry at(std::size_t index) const { return {names[index], uses[index]}; }
    void archive(Archive& archive) {
      archive(size, names, uses);
      if (!archive.require(size <= entries_max, "a bucket is too full")) size = 0;
    }

    std::uint8_t size = 0;
    std::array<std::uint8_t, entries_max> uses{};
    std::array<std::uint32_t, entries_max> names{};  // oldest first
  };
  static_assert(sizeof(Bucket) == 64);

  std::size_t bucket_of(std::uint32_t name) const;
  void split();

  std::deque<Bucket> buckets_{1};
};

}  // namespace larder
