// Space and its indexes against plain references, by random calls.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <map>
#include <optional>
#include <vector>

#include "core/base/random.h"
#include "core/space/length_index.h"
#include "core/space/offset_index.h"
#include "core/space/space.h"

namespace larder {
namespace {

constexpr std::uint64_t granules = 300;

// One entry for each granule: 0 is free, else the number of the extent.
struct Reference {
  struct Extent {
    ExtentId id;
    Range range;
    ExtentState state;
  };
  std::array<int, granules> owner{};
  std::map<int, Extent> extents;
  int next = 1;

  struct FreeRange {
    std::uint64_t start, end;
  };
  std::vector<FreeRange> free_ranges() const {
    std::vector<FreeRange> result;
    for (std::uint64_t i = 0; i < granules; ++i) {
      if (owner[i] != 0) continue;
      if (!result.empty() && result.back().end == i) {
        result.back().end = i + 1;
      } else {
        result.push_back({i, i + 1});
      }
    }
    return result;
  }
  bool is_free(Range range) const {
    for (std::uint64_t i = range.offset / 64_B; i < (range.offset + range.length) / 64_B; ++i) {
      if (i >= granules || owner[i] != 0) return false;
    }
    return true;
  }
  void add(ExtentId id, Range range, ExtentState state) {
    RC_ASSERT(is_free(range));
    paint(range, next);
    extents[next++] = {.id = id, .range = range, .state = state};
  }
  void paint(Range range, int number) {
    for (std::uint64_t i = range.offset / 64_B; i < (range.offset + range.length) / 64_B; ++i) {
      owner[i] = number;
    }
  }
  Bytes total(ExtentState state) const {
    Bytes sum;
    for (const auto& [number, extent] : extents) {
      if (extent.state == state) sum += extent.range.length;
    }
    return sum;
  }
};

class Play {
 public:
  void step() {
    switch (*rc::gen::weightedElement<int>({{8, 0}, {3, 1}, {5, 2}, {2, 3}, {1, 4}})) {
      case 0:
        return allocate();
      case 1:
        return quarantine();
      case 2:
        return free();
      case 3:
        return take();
      default:
        return use_stale();
    }
  }

  void compare() const {
    Bytes largest;
    for (const auto [start, end] : reference_.free_ranges()) {
      largest = std::max(largest, Bytes{64 * (end - start)});
    }
    RC_ASSERT(space_.largest_free() == largest);
    RC_ASSERT(space_.used() == reference_.total(ExtentState::used));
    RC_ASSERT(space_.quarantined() == reference_.total(ExtentState::quarantined));
    RC_ASSERT(space_.extents() == reference_.extents.size());
    for (const auto& [number, extent] : reference_.extents) {
      RC_ASSERT(space_.valid(extent.id));
      RC_ASSERT(space_.range(extent.id) == extent.range);
      RC_ASSERT(space_.state(extent.id) == extent.state);
    }
    space_.check_invariants();
  }

 private:
  void allocate() {
    const Bytes length = Bytes{64} * *rc::gen::inRange<std::uint64_t>(1, 40);
    const std::uint64_t alignment = std::uint64_t{64} << *rc::gen::inRange(0, 5);
    bool sure = false, possible = false;  // with many free ranges an aligned fit may be missed
    const auto ranges = reference_.free_ranges();
    for (const auto [start, end] : ranges) {
      const Bytes aligned = Bytes{64 * start}.rounded_up(alignment);
      possible |= aligned + length <= Bytes{64 * end};
      sure |= length.value + alignment - 64 <= 64 * (end - start);
    }
    sure |= possible && ranges.size() <= Space::probes_max;
    const auto id = space_.allocate(length, alignment);
    if (!id) {
      RC_ASSERT(!sure);
      RC_ASSERT(id.error().code() == ErrorCode::no_available_handle);
      return;
    }
    RC_ASSERT(possible);
    const Range range = space_.range(*id);
    RC_ASSERT(range.length == length);
    RC_ASSERT(range.offset.value % alignment == 0);
    reference_.add(*id, range, ExtentState::used);
  }

  void take() {
    const Range range = {.offset = Bytes{64} * *rc::gen::inRange<std::uint64_t>(0, granules + 2),
                         .length = Bytes{64} * *rc::gen::inRange<std::uint64_t>(0, 30)};
    const auto state = *rc::gen::element(ExtentState::used, ExtentState::quarantined);
    const bool legal = range.length > 0_B && reference_.is_free(range);
    const auto id = space_.take(range, state);
    RC_ASSERT(id.has_value() == legal);
    if (id) reference_.add(*id, range, state);
  }

  std::map<int, Reference::Extent>::iterator any() {
    const auto index = *rc::gen::inRange<std::size_t>(0, reference_.extents.size());
    return std::next(reference_.extents.begin(), static_cast<std::ptrdiff_t>(index));
  }

  void quarantine() {
    if (reference_.extents.empty()) return;
    auto& extent = any()->second;
    RC_ASSERT(space_.quarantine(extent.id).has_value() == (extent.state == ExtentState::used));
    extent.state = ExtentState::quarantined;
  }

  void free() {
    if (reference_.extents.empty()) return;
    const auto at = any();
    RC_ASSERT(space_.free(at->second.id).has_value());
    stale_.push_back(at->second.id);
    reference_.paint(at->second.range, 0);
    reference_.extents.erase(at);
  }

  void use_stale() {
    if (stale_.empty()) return;
    const ExtentId id = stale_[*rc::gen::inRange<std::size_t>(0, stale_.size())];
    RC_ASSERT(!space_.valid(id));
    RC_ASSERT(!space_.free(id).has_value());
    RC_ASSERT(!space_.quarantine(id).has_value());
  }

  Space space_{Bytes{64} * granules};
  Reference reference_;
  std::vector<ExtentId> stale_;
};

TEST(SpaceModel, BehavesLikeAMapOfGranules) {
  EXPECT_TRUE(rc::check([] {
    Play play;
    const int steps = *rc::gen::inRange(1, 200);
    for (int i = 0; i < steps; ++i) {
      play.step();
      play.compare();
    }
  }));
}

// Keys of every digit count, near each other and far apart.
std::uint64_t draw_key(Random& random) {
  const std::uint64_t base = std::uint64_t{1} << random.below(64);
  return std::max<std::uint64_t>(
      1, random.chance(0.5) ? base + random.below(70) - 35 : random.next() >> random.below(64));
}

TEST(LengthIndexModel, BehavesLikeAnOrderedMap) {
  Random random(17);
  LengthIndex index;
  std::map<std::uint64_t, std::uint32_t> reference;
  for (std::uint32_t i = 0; i < 30'000; ++i) {
    const std::uint64_t key = draw_key(random);
    const auto at = reference.lower_bound(key);
    const auto found = index.at_least(key);
    ASSERT_EQ(found.has_value(), at != reference.end());
    if (found) {
      ASSERT_EQ(found->key, at->first);
      ASSERT_EQ(found->value, at->second);
    }
    ASSERT_EQ(index.largest(), reference.empty() ? 0 : reference.rbegin()->first);
    if (i / 1000 % 2 == 1 && found) {  // grows and shrinks by turns
      index.erase(found->key);
      reference.erase(found->key);
    } else {
      const auto before = reference.find(key);
      ASSERT_EQ(index.exchange(key, i),
                before == reference.end() ? LengthIndex::none : before->second);
      reference[key] = i;
    }
  }
  const std::size_t memory = index.memory();
  for (const auto& [key, value] : reference) index.erase(key);
  EXPECT_EQ(index.largest(), 0u);
  for (const auto& [key, value] : reference) index.exchange(key, value);
  EXPECT_EQ(index.memory(), memory);  // empty nodes are used again
}

TEST(OffsetIndexModel, BehavesLikeAnOrderedMap) {
  Random random(23);
  OffsetIndex index;
  std::map<std::uint64_t, std::uint32_t> reference;
  for (std::uint32_t i = 0; i < 60'000; ++i) {
    const std::uint64_t offset = random.below(20'000);
    if (reference.contains(offset)) {
      if (i / 10'000 % 2 == 1 || random.chance(0.3)) {
        index.erase(offset);
        reference.erase(offset);
      }
    } else if (i / 10'000 % 2 == 0) {
      index.insert(offset, i);
      reference[offset] = i;
    }
    const std::uint64_t probe = random.below(20'000);
    const auto above = reference.upper_bound(probe);
    const auto found = index.floor(probe);
    ASSERT_EQ(found.has_value(), above != reference.begin());
    if (found) {
      ASSERT_EQ(*found, std::prev(above)->second);
    }
    ASSERT_EQ(index.size(), reference.size());
  }
  while (!reference.empty()) {
    index.erase(reference.begin()->first);
    reference.erase(reference.begin());
  }
  EXPECT_FALSE(index.floor(20'000).has_value());
}

}  // namespace
}  // namespace larder
