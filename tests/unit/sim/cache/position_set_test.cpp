#include "sim/cache/position_set.h"

#include <gtest/gtest.h>

#include <set>

#include "core/base/random.h"

namespace larder::sim {
namespace {

TEST(PositionSet, AgreesWithAnOrderedSet) {
  Random random(3);
  for (const std::uint64_t bound : {1u, 63u, 64u, 65u, 4096u, 4097u, 300'000u}) {
    PositionSet positions(bound);
    std::set<std::uint64_t> all;
    for (int step = 0; step < 3000; ++step) {
      const std::uint64_t number = random.below(bound);
      ASSERT_EQ(positions.contains(number), all.contains(number));
      if (all.erase(number) > 0) {
        positions.erase(number);
      } else {
        positions.insert(number);
        all.insert(number);
      }
      ASSERT_EQ(positions.size(), all.size());
      if (!all.empty()) {
        ASSERT_EQ(positions.greatest(), *all.rbegin()) << bound;
      }
    }
  }
}

}  // namespace
}  // namespace larder::sim
