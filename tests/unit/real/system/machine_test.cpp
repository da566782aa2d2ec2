#include "real/system/machine.h"

#include <gtest/gtest.h>

namespace larder::real {
namespace {

TEST(SystemRandom, TwoStreamsDiffer) {
  Random a = system_random();
  Random b = system_random();
  EXPECT_NE(draw_id<IncarnationId>(a), draw_id<IncarnationId>(b));
}

TEST(MachineName, IsNeverEmpty) { EXPECT_FALSE(machine_name().empty()); }

}  // namespace
}  // namespace larder::real
