#include "workloads/lockstep/page_pattern.h"

#include <cstdint>
#include <cstring>

namespace larder::workloads {
namespace {

std::uint64_t word(BlockId block, std::size_t index) {
  std::uint64_t z = block.value * 0x9e3779b97f4a7c15u + index * 0xbf58476d1ce4e5b9u + 1;
  z = (z ^ (z >> 30)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

constexpr std::size_t word_bytes = sizeof(std::uint64_t);

}  // namespace

// Whole words by themselves, since a copy of a length that is known at compile time is one store.

void fill_page(BlockId block, std::span<std::byte> page) {
  const std::size_t words = page.size() / word_bytes;
  for (std::size_t i = 0; i < words; ++i) {
    const std::uint64_t value = word(block, i);
    std::memcpy(page.data() + i * word_bytes, &value, word_bytes);
  }
  const std::uint64_t last = word(block, words);
  std::memcpy(page.data() + words * word_bytes, &last, page.size() % word_bytes);
}

bool is_page(BlockId block, std::span<const std::byte> page) {
  const std::size_t words = page.size() / word_bytes;
  std::uint64_t difference = 0;
  for (std::size_t i = 0; i < words; ++i) {
    std::uint64_t value = 0;
    std::memcpy(&value, page.data() + i * word_bytes, word_bytes);
    difference |= value ^ word(block, i);
  }
  const std::uint64_t last = word(block, words);
  return difference == 0 &&
         std::memcmp(page.data() + words * word_bytes, &last, page.size() % word_bytes) == 0;
}

}  // namespace larder::workloads
