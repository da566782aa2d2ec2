// How much of a segment can be used.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/base/random.h"
#include "core/protocol/extent_shape.h"
#include "core/space/space.h"

namespace larder {
namespace {

double share_used(const Space& space) {
  return static_cast<double>(space.used().value) / static_cast<double>(space.capacity().value);
}

// Allocates extents of this payload until there is no room, at most `count`.
void fill(Space& space, Bytes payload, std::vector<ExtentId>& held,
          std::size_t count = ~std::size_t{0}) {
  const ExtentShape shape = extent_shape(payload);
  for (; count > 0; --count) {
    const auto id = space.allocate(shape.length, shape.alignment);
    if (!id) {
      EXPECT_EQ(id.error().code(), ErrorCode::no_available_handle);
      return;
    }
    EXPECT_EQ(space.range(*id).offset.value % shape.alignment, 0u);
    held.push_back(*id);
  }
}

// Frees this share of the extents, drawn at random.
void thin(Space& space, std::vector<ExtentId>& held, double share, Random& random) {
  auto freed = static_cast<std::size_t>(share * static_cast<double>(held.size()));
  for (; freed > 0; --freed) {
    std::swap(held[random.below(held.size())], held.back());
    ASSERT_TRUE(space.free(held.back()));
    held.pop_back();
  }
}

class UniformSize : public testing::TestWithParam<Bytes> {
 protected:
  // Room for at least some hundred, and some bytes that fit nothing.
  Bytes capacity() const { return std::max(64_MiB, GetParam() * 300) + 12345_B; }
};

TEST_P(UniformSize, UsesAtLeast98PercentFreshAndAfterChurn) {
  Space space(capacity());
  std::vector<ExtentId> held;
  fill(space, GetParam(), held);
  const std::size_t fresh = held.size();
  EXPECT_GE(share_used(space), 0.98);
  Random random(GetParam().value);
  for (const double share : {0.1, 0.5, 0.9, 0.3, 0.7}) {
    thin(space, held, share, random);
    space.check_invariants();
    fill(space, GetParam(), held);
    EXPECT_EQ(held.size(), fresh);  // not one place is lost
  }
  EXPECT_GE(share_used(space), 0.98);
  thin(space, held, 1.0, random);
  EXPECT_EQ(space.largest_free(), space.capacity());
}

TEST_P(UniformSize, UsesAtLeast98PercentAfterChurnOfMixedSizes) {
  Space space(capacity());
  std::vector<ExtentId> held;
  Random random(GetParam().value);
  for (int i = 0; i < 3000; ++i) {
    fill(space, Bytes{1 + random.below(2 * GetParam().value)}, held, 1);
    if (i % 4 == 3) thin(space, held, 0.02, random);
  }
  thin(space, held, 1.0, random);
  fill(space, GetParam(), held);
  EXPECT_GE(share_used(space), 0.98);
  space.check_invariants();
}

INSTANTIATE_TEST_SUITE_P(Sizes, UniformSize,
                         testing::Values(4_KiB, 5000_B, 10'000_B, 64_KiB, 100'000_B, 200'000_B,
                                         256_KiB - 64_B, 256_KiB, 256_KiB + 1_B, 300'000_B, 512_KiB,
                                         1_MiB, 1'048'577_B, 3'000'000_B, 5_MiB, 16_MiB - 1_B,
                                         16_MiB),
                         [](const auto& info) { return std::to_string(info.param.value); });

TEST(SpaceUse, B6OneMebibyteObjectsGiveWayToThreeMebibyteOnes) {
  Space space(4_GiB);
  std::vector<ExtentId> held;
  fill(space, 1_MiB, held);
  EXPECT_GE(share_used(space), 0.98);
  Random random(1);
  thin(space, held, 1.0, random);
  fill(space, 3_MiB, held);
  EXPECT_GE(share_used(space), 0.98);  // the promise is 95 %
}

TEST(SpaceUse, PagesBesideMetadataObjectsLoseLittleInSteadyState) {
  // Two sizes of pages and small side states, at 90 % of use, for ten times the content of the
  // pool.
  Space space(1_GiB);
  std::vector<ExtentId> held;
  Random random(5);
  std::size_t refused = 0, calls = 0;
  while (calls < 60'000) {
    const std::uint64_t draw = random.below(10);
    const Bytes payload = draw < 4 ? 288_KiB : draw < 7 ? 144_KiB : Bytes{200 + random.below(4000)};
    const ExtentShape shape = extent_shape(payload);
    while (share_used(space) > 0.9) {
      std::swap(held[random.below(held.size())], held.back());
      ASSERT_TRUE(space.free(held.back()));
      held.pop_back();
    }
    ++calls;
    if (const auto id = space.allocate(shape.length, shape.alignment)) {
      held.push_back(*id);
    } else {
      ++refused;
    }
  }
  EXPECT_LT(refused, calls / 100);
  space.check_invariants();
}

}  // namespace
}  // namespace larder
