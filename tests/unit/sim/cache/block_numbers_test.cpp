#include "sim/cache/block_numbers.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "core/base/random.h"

namespace larder::sim {
namespace {

// Ids of all sizes in all orders, so that some are hashed first and stand in the table later.
TEST(BlockNumbers, CountBlocksByTheirFirstAppearance) {
  for (const std::uint64_t spread : {10u, 3'000u, 100'000u, 10'000'000u}) {
    Random random(spread);
    BlockNumbers numbers;
    std::map<std::uint64_t, BlockNumber> expected;
    for (int request = 0; request < 400; ++request) {
      std::vector<workloads::BlockId> blocks(random.below(40));
      for (auto& block : blocks) {
        block.value = random.chance(0.05) ? ~random.below(spread) : random.below(spread);
      }
      const auto got = numbers.of(blocks);
      ASSERT_EQ(got.size(), blocks.size());
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        const auto next = static_cast<BlockNumber>(expected.size());
        EXPECT_EQ(got[i], expected.try_emplace(blocks[i].value, next).first->second);
      }
    }
  }
}

}  // namespace
}  // namespace larder::sim
