#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <utility>

#include "core/base/assert.h"
#include "core/catalog/key_index.h"

// The index of keys against a set of (hash, slot). Hashes are few and next to each other, at the
// begin, the middle and the end of their range, so that runs collide, grow into each other and into
// the overhang.

namespace larder {
namespace {

class Play {
 public:
  explicit Play(FuzzedDataProvider& input) : input_(input) {}

  void step() {
    switch (input_.ConsumeIntegralInRange(0, 3)) {
      case 0:
        return insert(1);
      case 1:
        return insert(input_.ConsumeIntegralInRange(1, 40));  // enough to grow
      case 2:
        return erase();
      default:
        return replace();
    }
  }

  void compare() const {
    index_.check_invariants();
    LARDER_ASSERT(index_.size() == pairs_.size());
    for (const auto& [hash, slot] : pairs_) LARDER_ASSERT(find(hash, slot) == slot);
  }

  // A hash of which nothing was inserted, or all of whose slots the caller refuses, finds nothing.
  void miss() {
    const std::uint64_t hash = draw_hash();
    LARDER_ASSERT(find(hash, next_slot_) == KeyIndex::none);
    const auto same_tag = [&](const auto& pair) { return pair.first >> 32 == hash >> 32; };
    const bool any = std::ranges::any_of(pairs_, same_tag);
    LARDER_ASSERT((index_.candidate(hash) != KeyIndex::none) == any);
  }

 private:
  std::uint32_t find(std::uint64_t hash, std::uint32_t slot) const {
    return index_.find(hash, [&](std::uint32_t found) { return found == slot; });
  }

  std::uint64_t draw_hash() {
    constexpr std::uint64_t last = ~std::uint64_t{0};
    const std::uint64_t near = input_.ConsumeIntegral<std::uint8_t>();
    switch (input_.ConsumeIntegralInRange(0, 3)) {
      case 0:
        return near << 32;
      case 1:
        return (std::uint64_t{1} << 63) + (near << 30);
      case 2:
        return last - (near << 31);
      default:
        return input_.ConsumeIntegral<std::uint64_t>();
    }
  }

  void insert(int count) {
    const std::uint64_t hash = draw_hash();
    for (int i = 0; i < count; ++i) {
      index_.insert(hash, next_slot_);
      pairs_.emplace(hash, next_slot_++);
    }
  }

  std::set<std::pair<std::uint64_t, std::uint32_t>>::iterator any_pair() {
    const auto n = input_.ConsumeIntegralInRange<std::size_t>(0, pairs_.size() - 1);
    return std::next(pairs_.begin(), static_cast<std::ptrdiff_t>(n));
  }

  void erase() {
    if (pairs_.empty()) return;
    const auto pair = any_pair();
    index_.erase(pair->first, pair->second);
    pairs_.erase(pair);
  }

  void replace() {
    if (pairs_.empty()) return;
    const auto pair = any_pair();
    const std::uint64_t hash = pair->first;
    index_.replace(hash, pair->second, next_slot_);
    pairs_.erase(pair);
    pairs_.emplace(hash, next_slot_++);
  }

  FuzzedDataProvider& input_;
  KeyIndex index_;
  std::set<std::pair<std::uint64_t, std::uint32_t>> pairs_;
  std::uint32_t next_slot_ = 0;
};

}  // namespace
}  // namespace larder

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider input(data, size);
  larder::Play play(input);
  for (int steps = 0; steps < 100 && input.remaining_bytes() > 0; ++steps) {
    play.step();
    play.miss();
  }
  play.compare();
  return 0;
}
