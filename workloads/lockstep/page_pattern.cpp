#include "workloads/lockstep/page_pattern.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace larder::workloads {
namespace {

std::uint64_t word(BlockId block, std::size_t index) {
  std::uint64_t z = block.value * 0x9e3779b97f4a7c15u + index * 0xbf58476d1ce4e5b9u + 1;
  z = (z ^ (z >> 30)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Calls piece(at, bytes of the word, how many) over the whole page until it returns false.
template <class Piece>
bool for_each_word(BlockId block, std::size_t size, Piece piece) {
  for (std::size_t at = 0, index = 0; at < size; at += sizeof(std::uint64_t), ++index) {
    const std::uint64_t value = word(block, index);
    if (!piece(at, &value, std::min(sizeof value, size - at))) return false;
  }
  return true;
}

}  // namespace

void fill_page(BlockId block, std::span<std::byte> page) {
  for_each_word(block, page.size(), [&](std::size_t at, const void* bytes, std::size_t count) {
    std::memcpy(page.data() + at, bytes, count);
    return true;
  });
}

bool is_page(BlockId block, std::span<const std::byte> page) {
  return for_each_word(block, page.size(),
                       [&](std::size_t at, const void* bytes, std::size_t count) {
                         return std::memcmp(page.data() + at, bytes, count) == 0;
                       });
}

}  // namespace larder::workloads
