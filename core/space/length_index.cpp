#include "core/space/length_index.h"

#include <algorithm>
#include <bit>

#include "core/base/assert.h"

namespace larder {

LengthIndex::LengthIndex() : nodes_(digits_max) {}

int LengthIndex::digit_count(std::uint64_t key) {
  return (static_cast<int>(std::bit_width(key | 1)) + digit_bits - 1) / digit_bits;
}

unsigned LengthIndex::digit(std::uint64_t key, int level) {
  return static_cast<unsigned>(key >> (level * digit_bits)) & 63u;
}

std::uint32_t LengthIndex::new_node() {
  if (vacant_node_ == none) {
    nodes_.emplace_back();
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }
  const std::uint32_t node = vacant_node_;
  vacant_node_ = nodes_[node].child[0];
  return node;
}

std::uint32_t LengthIndex::exchange(std::uint64_t key, std::uint32_t value) {
  largest_ = std::max(largest_, key);
  int level = digit_count(key) - 1;
  auto node = static_cast<std::uint32_t>(level);
  roots_present_ |= 1u << level;
  for (; level > 0; --level) {
    const unsigned i = digit(key, level);
    if ((nodes_[node].present >> i & 1) == 0) {
      const std::uint32_t made = new_node();
      nodes_[node].present |= std::uint64_t{1} << i;
      nodes_[node].child[i] = made;
    }
    node = nodes_[node].child[i];
  }
  Node& last = nodes_[node];
  const unsigned i = digit(key, 0);
  const bool had = (last.present >> i & 1) != 0;
  const std::uint32_t previous = had ? last.child[i] : none;
  last.present |= std::uint64_t{1} << i;
  last.child[i] = value;
  return previous;
}

void LengthIndex::erase(std::uint64_t key) {
  take_out(key);
  if (key == largest_) largest_ = find_largest();
}

void LengthIndex::take_out(std::uint64_t key) {
  const int top = digit_count(key) - 1;
  Path path;
  path[static_cast<std::size_t>(top)] = static_cast<std::uint32_t>(top);
  for (int level = top; level > 0; --level) {
    const Node& node = nodes_[path[static_cast<std::size_t>(level)]];
    LARDER_ASSERT((node.present >> digit(key, level) & 1) != 0);
    path[static_cast<std::size_t>(level - 1)] = node.child[digit(key, level)];
  }
  LARDER_ASSERT((nodes_[path[0]].present >> digit(key, 0) & 1) != 0);
  for (int level = 0; level <= top; ++level) {
    const std::uint32_t index = path[static_cast<std::size_t>(level)];
    Node& node = nodes_[index];
    node.present &= ~(std::uint64_t{1} << digit(key, level));
    if (node.present != 0) return;
    if (level < top) {
      node.child[0] = vacant_node_;
      vacant_node_ = index;
    }
  }
  roots_present_ &= ~(1u << top);
}

LengthIndex::Entry LengthIndex::first_below(std::uint32_t node, int level,
                                            std::uint64_t prefix) const {
  for (;; --level) {
    const auto i = static_cast<unsigned>(std::countr_zero(nodes_[node].present));
    prefix = prefix << digit_bits | i;
    node = nodes_[node].child[i];
    if (level == 0) return {.key = prefix, .value = node};
  }
}

std::optional<LengthIndex::Entry> LengthIndex::at_least(std::uint64_t key) const {
  const int top = digit_count(key) - 1;
  // Down along the key's own digits as far as there are nodes; `turn` is the last level where the
  // path could go on by a larger digit.
  auto node = static_cast<std::uint32_t>(top);
  std::uint32_t turn_node = none;
  int turn = -1;
  for (int level = top; level >= 0; --level) {
    const unsigned i = digit(key, level);
    const std::uint64_t from = nodes_[node].present >> i;
    if (from > 1) {
      turn_node = node;
      turn = level;
    }
    if ((from & 1) == 0) break;
    node = nodes_[node].child[i];
    if (level == 0) return Entry{.key = key, .value = node};
  }
  if (turn_node != none) {
    const Node& at = nodes_[turn_node];
    const unsigned i = digit(key, turn);
    const auto next = i + 1 + static_cast<unsigned>(std::countr_zero(at.present >> i >> 1));
    const int shift = (turn + 1) * digit_bits;
    const std::uint64_t prefix = (shift < 64 ? key >> shift : 0) << digit_bits | next;
    if (turn == 0) return Entry{.key = prefix, .value = at.child[next]};
    return first_below(at.child[next], turn - 1, prefix);
  }
  const std::uint32_t longer = roots_present_ >> top >> 1;
  if (longer == 0) return std::nullopt;
  const int root = top + 1 + std::countr_zero(longer);
  return first_below(static_cast<std::uint32_t>(root), root, 0);
}

std::uint64_t LengthIndex::find_largest() const {
  if (roots_present_ == 0) return 0;
  const int root = static_cast<int>(std::bit_width(roots_present_)) - 1;
  auto node = static_cast<std::uint32_t>(root);
  std::uint64_t key = 0;
  for (int level = root; level >= 0; --level) {
    const auto i = static_cast<unsigned>(std::bit_width(nodes_[node].present)) - 1;
    key = key << digit_bits | i;
    node = nodes_[node].child[i];
  }
  return key;
}

}  // namespace larder
