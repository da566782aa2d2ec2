#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

#include "core/base/assert.h"
#include "core/space/space.h"

// The allocator against a model that is a map of extents by offset: random calls, after each of
// which both agree. What the allocator may choose is where an extent goes; that it goes somewhere
// if it can, that nothing overlaps, and all totals are not its choice.

namespace larder {
namespace {

struct Extent {
  ExtentId id;
  Bytes length;
  ExtentState state;
};

class Play {
 public:
  Play(FuzzedDataProvider& input)
      : input_(input), space_(Bytes{input.ConsumeIntegralInRange<std::uint64_t>(0, 1 << 15)}) {}

  void step() {
    switch (input_.ConsumeIntegralInRange(0, 4)) {
      case 0:
        return allocate();
      case 1:
        return free_one();
      case 2:
        return quarantine_one();
      case 3:
        return take();
      default:
        return use_what_is_gone();
    }
  }

  void compare() const {
    std::map<ExtentState, Bytes> totals;
    for (const auto& [offset, extent] : extents_) {
      totals[extent.state] += extent.length;
      LARDER_ASSERT(space_.valid(extent.id));
      LARDER_ASSERT((space_.range(extent.id) == Range{offset, extent.length}));
      LARDER_ASSERT(space_.state(extent.id) == extent.state);
    }
    LARDER_ASSERT(space_.used() == totals[ExtentState::used]);
    LARDER_ASSERT(space_.quarantined() == totals[ExtentState::quarantined]);
    LARDER_ASSERT(space_.extents() == extents_.size());
    LARDER_ASSERT(space_.largest_free() == largest_free());
    space_.check_invariants();
  }

 private:
  // The free range that begins at or after `at`, as far as the next extent or the end.
  Bytes largest_free() const {
    Bytes largest, end;
    for (const auto& [offset, extent] : extents_) {
      largest = std::max(largest, offset - end);
      end = offset + extent.length;
    }
    return std::max(largest, space_.capacity() - end);
  }

  bool is_free(Range range) const {
    if (range.length == Bytes{} || range.offset > space_.capacity() ||
        range.length > space_.capacity() - range.offset) {
      return false;
    }
    const auto after = extents_.lower_bound(range.offset);
    if (after != extents_.end() && after->first < range.offset + range.length) return false;
    return after == extents_.begin() ||
           std::prev(after)->first + std::prev(after)->second.length <= range.offset;
  }

  void add(ExtentId id, Range range, ExtentState state) {
    LARDER_ASSERT(is_free(range), "what is given out was free");
    extents_.emplace(range.offset, Extent{.id = id, .length = range.length, .state = state});
  }

  // Mostly what can be asked for, sometimes what cannot.
  Bytes length() {
    const Bytes granules{input_.ConsumeIntegralInRange<std::uint64_t>(0, 70)};
    return input_.ConsumeBool() ? granules * 64 : Bytes{granules * 64 + granules};
  }

  void allocate() {
    const Bytes wanted = length();
    const std::uint64_t alignment = std::uint64_t{1} << input_.ConsumeIntegralInRange(4, 12);
    const auto id = space_.allocate(wanted, alignment);
    const bool sensible = wanted != Bytes{} && wanted.value % 64 == 0 && alignment >= 64;
    if (!sensible) {
      LARDER_ASSERT(!id && id.error().code() == ErrorCode::invalid_params);
    } else if (!id) {
      LARDER_ASSERT(id.error().code() == ErrorCode::no_available_handle);
      // An aligned fit may be missed among the ranges that are a little longer.
      LARDER_ASSERT(largest_free() < wanted + Bytes{alignment == 64 ? 0 : alignment});
    } else {
      const Range range = space_.range(*id);
      LARDER_ASSERT(range.length == wanted && range.offset.value % alignment == 0);
      add(*id, range, ExtentState::used);
    }
  }

  void take() {
    const Range range{.offset = length() * 8, .length = length()};
    const ExtentState state = input_.ConsumeBool() ? ExtentState::used : ExtentState::quarantined;
    const bool possible =
        range.offset.value % 64 == 0 && range.length.value % 64 == 0 && is_free(range);
    const auto id = space_.take(range, state);
    LARDER_ASSERT(id.has_value() == possible);
    if (id) add(*id, range, state);
  }

  std::map<Bytes, Extent>::iterator any_extent() {
    const auto n = input_.ConsumeIntegralInRange<std::size_t>(0, extents_.size() - 1);
    return std::next(extents_.begin(), static_cast<std::ptrdiff_t>(n));
  }

  void free_one() {
    if (extents_.empty()) return;
    const auto extent = any_extent();
    LARDER_ASSERT(space_.free(extent->second.id).has_value());
    gone_.push_back(extent->second.id);
    extents_.erase(extent);
  }

  void quarantine_one() {
    if (extents_.empty()) return;
    Extent& extent = any_extent()->second;
    const bool was_used = extent.state == ExtentState::used;
    LARDER_ASSERT(space_.quarantine(extent.id).has_value() == was_used);
    extent.state = ExtentState::quarantined;
  }

  void use_what_is_gone() {
    if (gone_.empty()) return;
    const ExtentId id = gone_[input_.ConsumeIntegralInRange<std::size_t>(0, gone_.size() - 1)];
    LARDER_ASSERT(!space_.valid(id) && !space_.free(id) && !space_.quarantine(id));
  }

  FuzzedDataProvider& input_;
  Space space_;
  std::map<Bytes, Extent> extents_;  // by offset
  std::vector<ExtentId> gone_;
};

}  // namespace
}  // namespace larder

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider input(data, size);
  larder::Play play(input);
  for (int steps = 0; steps < 200 && input.remaining_bytes() > 0; ++steps) {
    play.step();
    play.compare();
  }
  return 0;
}
