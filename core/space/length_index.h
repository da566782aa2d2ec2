#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace larder {

// An ordered map from a free range's exact length to one slot, for `Space`.
//
// TLSF (Masmano, Ripoll, Crespo, Real: "TLSF: a new dynamic memory allocator for real-time
// systems", ECRTS 2004) finds a fit in constant time by two levels of bitmaps, but its last level
// is a class of lengths. It must round a request up to the next class, and so misses a hole of just
// the requested length; and the largest range of a class is known only after a walk. Here the
// bitmaps go on to the last digit: a length of d digits of base 64 is a path through d nodes, each
// a 64-bit map and 64 children. Lengths of equal digit count share a root, so a hole of less than
// 16 MiB (in granules of 64 bytes) is three steps away, and the largest possible key eleven. All
// calls take constant time.
//
// A node is 264 bytes and exists only where keys are. All keys below 64^3 need at most 4,161 nodes.
class LengthIndex {
 public:
  struct Entry {
    std::uint64_t key = 0;
    std::uint32_t value = 0;
  };
  static constexpr std::uint32_t none = 0xffffffff;

  LengthIndex();

  // Sets the value of `key` (not `none`) and returns the one before, `none` if there was no such
  // key.
  std::uint32_t exchange(std::uint64_t key, std::uint32_t value);
  // Precondition: the key is there.
  void erase(std::uint64_t key);

  // The entry with the smallest key that is not below `key`.
  std::optional<Entry> at_least(std::uint64_t key) const;
  // The largest key, 0 if there is none. Kept, since placement asks each segment for it.
  std::uint64_t largest() const { return largest_; }

  std::size_t memory() const { return nodes_.size() * sizeof(Node); }

 private:
  static constexpr int digit_bits = 6;
  static constexpr int digits_max = 11;

  struct Node {
    std::uint64_t present = 0;            // bit i: child[i] is in use
    std::array<std::uint32_t, 64> child;  // a node; on the last level a value
  };
  // The nodes from a root (level digits - 1) down to the last level (0).
  using Path = std::array<std::uint32_t, digits_max>;

  static int digit_count(std::uint64_t key);
  static unsigned digit(std::uint64_t key, int level);
  std::uint32_t new_node();
  Entry first_below(std::uint32_t node, int level, std::uint64_t prefix) const;
  void take_out(std::uint64_t key);
  std::uint64_t find_largest() const;

  std::vector<Node> nodes_;           // the first `digits_max` are the roots
  std::uint32_t vacant_node_ = none;  // a list through child[0]
  std::uint32_t roots_present_ = 0;   // bit d - 1: there are keys of d digits
  std::uint64_t largest_ = 0;
};

}  // namespace larder
