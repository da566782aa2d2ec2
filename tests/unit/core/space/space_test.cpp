#include "core/space/space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/base/random.h"
#include "core/protocol/extent_shape.h"

namespace larder {
namespace {

ExtentId must(Result<ExtentId> result) {
  EXPECT_TRUE(result.has_value()) << result.error().message();
  return result.value_or(ExtentId{});
}

template <class T>
T pick(std::vector<T>& from, Random& random) {
  std::swap(from[random.below(from.size())], from.back());
  T last = from.back();
  from.pop_back();
  return last;
}

TEST(Space, RoundsTheCapacityDownTo64) {
  EXPECT_EQ(Space(1000_B).capacity(), 960_B);
  EXPECT_EQ(Space(63_B).capacity(), 0_B);
}

TEST(Space, WithoutCapacityRefusesEverything) {
  Space space(0_B);
  EXPECT_EQ(space.largest_free(), 0_B);
  EXPECT_EQ(space.allocate(64_B, 64).error().code(), ErrorCode::no_available_handle);
  EXPECT_EQ(space.take({.offset = 0_B, .length = 64_B}).error().code(), ErrorCode::invalid_params);
  space.check_invariants();
}

TEST(Space, CountsUsedQuarantinedAndFreeBytes) {
  Space space(1_MiB);
  const ExtentId a = must(space.allocate(4160_B, 64));
  const ExtentId b = must(space.allocate(64_B, 64));
  EXPECT_EQ(space.range(a), (Range{.offset = 0_B, .length = 4160_B}));
  EXPECT_EQ(space.range(b), (Range{.offset = 4160_B, .length = 64_B}));
  ASSERT_TRUE(space.quarantine(a));
  EXPECT_EQ(space.state(a), ExtentState::quarantined);
  EXPECT_EQ(space.state(b), ExtentState::used);
  EXPECT_EQ(space.used(), 64_B);
  EXPECT_EQ(space.quarantined(), 4160_B);
  EXPECT_EQ(space.free_bytes(), 1_MiB - 4224_B);
  EXPECT_EQ(space.extents(), 2u);
  space.check_invariants();
}

TEST(Space, QuarantinedBytesAreNotGivenOutUntilFreed) {
  Space space(128_B);
  const ExtentId a = must(space.allocate(128_B, 64));
  ASSERT_TRUE(space.quarantine(a));
  EXPECT_FALSE(space.allocate(64_B, 64));
  EXPECT_EQ(space.quarantine(a).error().code(), ErrorCode::invalid_params);
  ASSERT_TRUE(space.free(a));
  EXPECT_EQ(space.largest_free(), 128_B);
  EXPECT_EQ(space.quarantined(), 0_B);
}

TEST(Space, MergesWithBothNeighboursAtOnce) {
  Space space(192_B);
  const ExtentId a = must(space.allocate(64_B, 64));
  const ExtentId b = must(space.allocate(64_B, 64));
  const ExtentId c = must(space.allocate(64_B, 64));
  ASSERT_TRUE(space.free(a));
  ASSERT_TRUE(space.free(c));
  EXPECT_EQ(space.largest_free(), 64_B);
  ASSERT_TRUE(space.free(b));
  EXPECT_EQ(space.largest_free(), 192_B);
  space.check_invariants();
}

TEST(Space, CatchesDoubleFreesAndStaleIds) {
  Space space(1_MiB);
  const ExtentId a = must(space.allocate(64_B, 64));
  ASSERT_TRUE(space.free(a));
  const Status twice = space.free(a);
  EXPECT_EQ(twice.error().code(), ErrorCode::invalid_params);
  EXPECT_NE(twice.error().facts().detail.find("freed before"), std::string::npos);

  const ExtentId b = must(space.allocate(64_B, 64));
  EXPECT_EQ(space.range(b).offset, 0_B);  // the same bytes, under another name
  EXPECT_NE(a, b);
  EXPECT_FALSE(space.valid(a));
  EXPECT_FALSE(space.free(a));
  EXPECT_FALSE(space.quarantine(a));
  EXPECT_TRUE(space.valid(b));
  EXPECT_EQ(space.used(), 64_B);
  EXPECT_FALSE(space.valid(ExtentId{}));
  EXPECT_FALSE(space.free({.slot = 1'000'000, .generation = 1}));
}

TEST(Space, RefusesLengthsAndAlignmentsThatAreNone) {
  Space space(1_MiB);
  for (const Bytes length : {0_B, 63_B, 100_B}) {
    EXPECT_EQ(space.allocate(length, 64).error().code(), ErrorCode::invalid_params);
  }
  for (const std::uint64_t alignment : {0u, 32u, 96u}) {
    EXPECT_EQ(space.allocate(64_B, alignment).error().code(), ErrorCode::invalid_params);
  }
  EXPECT_EQ(space.free_bytes(), 1_MiB);
}

TEST(Space, NoRoomNamesTheSizeTheFreeBytesAndTheLargestRange) {
  Space space(256_B);
  must(space.allocate(64_B, 64));
  const ExtentId hole = must(space.allocate(64_B, 64));
  must(space.allocate(64_B, 64));
  ASSERT_TRUE(space.free(hole));
  const auto refused = space.allocate(128_B, 64);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::no_available_handle);
  EXPECT_EQ(refused.error().facts().detail,
            "no free range holds 128 bytes aligned to 64: 128 free, the largest range 64");
  const Bytes most = {~std::uint64_t{63}};
  EXPECT_EQ(space.allocate(most, 4096).error().code(), ErrorCode::no_available_handle);
  EXPECT_EQ(space.allocate(128_B, std::uint64_t{1} << 63).error().code(),
            ErrorCode::no_available_handle);
}

TEST(Space, TakesTheShortestHoleThatFits) {
  Space space(1_MiB);
  std::vector<ExtentId> holes;
  for (const Bytes length : {1024_B, 320_B, 640_B}) {
    holes.push_back(must(space.allocate(length, 64)));
    must(space.allocate(64_B, 64));
  }
  const Bytes tight = space.range(holes[1]).offset;
  for (const ExtentId id : holes) ASSERT_TRUE(space.free(id));
  EXPECT_EQ(space.range(must(space.allocate(256_B, 64))).offset, tight);
}

TEST(Space, TheGapBeforeAnAlignedStartStaysFree) {
  Space space(64_KiB);
  must(space.allocate(64_B, 64));
  const ExtentId page = must(space.allocate(8192_B, 4096));
  EXPECT_EQ(space.range(page).offset, 4096_B);
  const ExtentId gap = must(space.allocate(4032_B, 64));
  EXPECT_EQ(space.range(gap), (Range{.offset = 64_B, .length = 4032_B}));
  space.check_invariants();
}

TEST(Space, FindsAnAlignedFitInAHoleThatIsNotSureToFit) {
  Space space(1_MiB);
  must(space.allocate(64_B, 64));
  const ExtentId page = must(space.allocate(8192_B, 4096));
  must(space.allocate(1_MiB - 12288_B, 64));
  EXPECT_EQ(space.largest_free(), 4032_B);
  ASSERT_TRUE(space.free(page));  // with its gap 12,224 bytes, less than 8,192 + 4,096
  EXPECT_EQ(space.range(must(space.allocate(8192_B, 4096))).offset, 4096_B);
}

TEST(Space, ManyHolesThatMissTheAlignmentDoNotHideOneThatIsSureToFit) {
  Space space(4_MiB);
  must(space.allocate(64_B, 64));
  std::vector<ExtentId> odd;
  for (int i = 0; i < 100; ++i) {
    // Long enough, but each begins 64 bytes behind a page.
    odd.push_back(must(space.allocate(i % 4 == 0 ? 4096_B : 4160_B, 64)));
    must(space.allocate(i % 4 == 0 ? 4096_B : 4032_B, 64));
  }
  const ExtentId rest = must(space.allocate(space.largest_free(), 64));
  for (const ExtentId id : odd) ASSERT_TRUE(space.free(id));
  EXPECT_FALSE(space.allocate(4096_B, 4096));
  ASSERT_TRUE(space.free(rest));
  EXPECT_EQ(space.range(must(space.allocate(4096_B, 4096))).offset.value % 4096, 0u);
  space.check_invariants();
}

TEST(Space, TheLargestFreeRangeIsExact) {
  Space space(1_TiB);
  std::vector<ExtentId> holes;
  Bytes largest;
  Random random(7);
  for (int i = 0; i < 1000; ++i) {
    const Bytes length{64 * (1 + random.below(1 << 20))};
    holes.push_back(must(space.allocate(length, 64)));
    must(space.allocate(64_B, 64));
  }
  must(space.allocate(space.largest_free(), 64));
  EXPECT_EQ(space.largest_free(), 0_B);
  for (const ExtentId id : holes) {
    largest = std::max(largest, space.range(id).length);
    ASSERT_TRUE(space.free(id));
    ASSERT_EQ(space.largest_free(), largest);
  }
  EXPECT_TRUE(space.allocate(largest, 64));
  EXPECT_LT(space.largest_free(), largest);
}

TEST(Space, ReachesBeyondFourTebibytes) {
  Space space(100_TiB);
  const Range far = {.offset = 99_TiB + 4096_B, .length = 1_MiB};
  const ExtentId id = must(space.take(far));
  EXPECT_EQ(space.range(id), far);
  EXPECT_EQ(space.largest_free(), 99_TiB + 4096_B);
  must(space.allocate(99_TiB, 64));
  EXPECT_EQ(space.range(must(space.allocate(1_GiB, 4096))).offset, 99_TiB + 4096_B + 1_MiB);
  EXPECT_EQ(space.used(), 99_TiB + 1_GiB + 1_MiB);
  space.check_invariants();
}

TEST(Space, B8AnEmptyTebibyteCostsLessThan64KiBOfMetadata) {
  Space space(1_TiB);
  EXPECT_LT(space.metadata() + Bytes{sizeof(space)}, 64_KiB);
}

TEST(Space, B18AnExtentCostsAtMost40BytesOfMetadata) {
  constexpr std::uint64_t count = 1 << 20;
  Space space(Bytes{4160} * count);
  for (std::uint64_t i = 0; i < count; ++i) must(space.allocate(4160_B, 64));
  EXPECT_LE(space.metadata(), Bytes{40} * count);
  EXPECT_EQ(space.free_bytes(), 0_B);
}

TEST(Space, TakeRefusesWhatIsOutsideCrookedOrNotWhollyFree) {
  Space space(1_MiB);
  must(space.take({.offset = 128_B, .length = 128_B}));
  const Bytes most = {~std::uint64_t{63}};
  for (const Range range : {
           Range{.offset = 0_B, .length = 0_B},
           Range{.offset = 32_B, .length = 64_B},
           Range{.offset = 0_B, .length = 65_B},
           Range{.offset = 64_B, .length = 128_B},
           Range{.offset = 192_B, .length = 128_B},
           Range{.offset = 128_B, .length = 128_B},
           Range{.offset = 0_B, .length = 1_MiB},
           Range{.offset = 1_MiB, .length = 64_B},
           Range{.offset = 1_MiB - 64_B, .length = 128_B},
           Range{.offset = most, .length = 64_B},
           Range{.offset = 64_B, .length = most},
       }) {
    const auto refused = space.take(range);
    ASSERT_FALSE(refused) << range.offset.value << " +" << range.length.value;
    EXPECT_EQ(refused.error().code(), ErrorCode::invalid_params);
  }
  EXPECT_EQ(space.used(), 128_B);
  space.check_invariants();
}

TEST(Space, TakeRestoresGivenExtentsInAnyOrderAmongAllocations) {
  constexpr std::uint64_t count = 20'000;
  Space before(4_GiB);
  Random random(3);
  std::vector<Range> ranges;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto shape = extent_shape({1 + random.below(300'000)});
    ranges.push_back(before.range(must(before.allocate(shape.length, shape.alignment))));
  }
  Space after(4_GiB);
  while (!ranges.empty()) {
    const Range range = pick(ranges, random);
    const bool retiring = random.chance(0.2);
    const auto state = retiring ? ExtentState::quarantined : ExtentState::used;
    const ExtentId id = must(after.take(range, state));
    EXPECT_EQ(after.range(id), range);
    EXPECT_EQ(after.state(id), state);
    EXPECT_FALSE(after.take(range));
    if (retiring) {
      ASSERT_TRUE(after.free(id));  // confirmed while others are still being restored
      ASSERT_EQ(after.range(must(after.take(range))), range);
    }
  }
  EXPECT_EQ(after.used(), before.used());
  EXPECT_EQ(after.largest_free(), before.largest_free());
  after.check_invariants();
}

TEST(Space, TakeStillKnowsWhatIsFreeAfterManyAllocations) {
  Space space(1_MiB);
  must(space.take({.offset = 512_KiB, .length = 64_B}));
  std::vector<ExtentId> ids;
  for (int i = 0; i < 500; ++i) {
    ids.push_back(must(space.allocate(64_B, 64)));
    if (i % 3 == 0) {
      ASSERT_TRUE(space.free(ids.back()));
      ids.pop_back();
    }
    space.check_invariants();
  }
  for (const ExtentId id : ids) EXPECT_FALSE(space.take(space.range(id)));
  EXPECT_TRUE(space.take({.offset = 1_MiB - 64_B, .length = 64_B}));
  space.check_invariants();
}

TEST(Space, WhatTakeNeedsIsGivenBackWhenNobodyTakesAnyMore) {
  Space space(1_GiB);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    must(space.take({.offset = 192_B * i, .length = 64_B}));
  }
  const Bytes while_restoring = space.metadata();
  // More calls than there are slots: an extent and a free range each.
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(space.free(must(space.allocate(64_B, 64))));
  EXPECT_LT(space.metadata() + Bytes{16 * 1000}, while_restoring);
}

TEST(Space, TheSameCallsGiveTheSameExtents) {
  const auto run = [] {
    Space space(64_MiB);
    Random random(11);
    std::vector<ExtentId> held;
    std::vector<std::uint64_t> story;
    for (int i = 0; i < 20'000; ++i) {
      if (!held.empty() && random.chance(0.5)) {
        EXPECT_TRUE(space.free(pick(held, random)));
        continue;
      }
      const auto shape = extent_shape({random.below(400'000)});
      if (const auto id = space.allocate(shape.length, shape.alignment)) {
        held.push_back(*id);
        story.push_back(space.range(*id).offset.value);
      }
    }
    return story;
  };
  EXPECT_EQ(run(), run());
}

TEST(ExtentShape, RoundsUpAddsTheFooterAndAlignsLargeOnes) {
  EXPECT_EQ(extent_shape(0_B).length, 64_B);
  EXPECT_EQ(extent_shape(1_B).length, 128_B);
  EXPECT_EQ(extent_shape(4_KiB).length, 4160_B);
  EXPECT_EQ(extent_shape(256_KiB - 1_B).alignment, 64u);
  EXPECT_EQ(extent_shape(256_KiB).alignment, 4096u);
  EXPECT_EQ(extent_shape(256_KiB).length, 256_KiB + 64_B);
  EXPECT_EQ(extent_shape(256_KiB, SegmentKind::file).length, 256_KiB);
  EXPECT_EQ(extent_shape(0_B, SegmentKind::file).length, 64_B);
  EXPECT_EQ(extent_shape({~std::uint64_t{0}}).length.value, ~std::uint64_t{63});
  EXPECT_EQ(extent_shape({~std::uint64_t{0}}, SegmentKind::file).length.value, ~std::uint64_t{63});
}

}  // namespace
}  // namespace larder
