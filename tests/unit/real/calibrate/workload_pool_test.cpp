#include "real/calibrate/workload_pool.h"

#include <gtest/gtest.h>

#include <chrono>

namespace larder::real {
namespace {

using namespace literals;

// On a busy machine whoever ends the warm-up may come to it late.
TEST(WorkloadPool, AWarmUpThatDoesNotEndLeavesRoomForWhatIsCounted) {
  auto pool = WorkloadPool::start(CalibratedTransport::local, 8_MiB).value();
  const Workload puts{.transport = CalibratedTransport::local,
                      .operation = Workload::Operation::put,
                      .size = 4_KiB};
  ASSERT_TRUE(pool.store(puts.size).has_value());
  const auto run = pool.run(puts, {.warm_up = std::chrono::seconds(1),
                                   .measured = std::chrono::milliseconds(1),
                                   .calls_min = 1});
  ASSERT_TRUE(run.has_value()) << run.error().message();
  EXPECT_GT(run->calls, 0u);
}

}  // namespace
}  // namespace larder::real
