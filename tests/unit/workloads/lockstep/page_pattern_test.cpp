#include "workloads/lockstep/page_pattern.h"

#include <gtest/gtest.h>

#include <vector>

namespace larder::workloads {
namespace {

TEST(PagePattern, AnyByteOutOfPlaceIsSeenAtAnyLength) {
  for (const std::size_t size : {1u, 7u, 8u, 9u, 64u, 100u}) {
    std::vector<std::byte> page(size);
    fill_page({5}, page);
    EXPECT_TRUE(is_page({5}, page));
    EXPECT_FALSE(is_page({6}, page));
    for (std::byte& byte : page) {
      byte ^= std::byte{1};
      EXPECT_FALSE(is_page({5}, page));
      byte ^= std::byte{1};
    }
  }
}

}  // namespace
}  // namespace larder::workloads
