#include "sim/calibration/simulated_workload.h"

#include <gtest/gtest.h>

#include "tests/unit/sim/calibration/machine.h"

namespace larder::sim {

using namespace literals;

namespace {

using Operation = Workload::Operation;

WorkloadRun run(const Workload& workload, std::uint32_t cores = 2) {
  return simulate(machine_of(cores), values_of(round_call_costs()), workload, 1);
}

// 4,096 bytes at 2 GB/s.
constexpr std::int64_t copying = 2'048;

TEST(SimulatedWorkload, AGetAloneTakesTheSumOfItsSteps) {
  const WorkloadRun one = run({.operation = Operation::get, .size = 4_KiB});
  // Client, hand over, to the master and back, the master, to the node, the node, the bytes, and
  // the client wakes up.
  const std::int64_t expected = 8'000 + 700 + 2'000 + 10'000 + 2 * 5'000 + 4'000 + 500 + 5'000 +
                                6'000 + 1'000 + copying + 5'000;
  EXPECT_NEAR(static_cast<double>(one.p50.count()), static_cast<double>(expected), 20);
  EXPECT_NEAR(one.bytes_per_second(), 4096e9 / static_cast<double>(expected), 1e5);
}

TEST(SimulatedWorkload, APutAloneTakesTheSumOfItsSteps) {
  const WorkloadRun one = run({.operation = Operation::put, .size = 4_KiB});
  const std::int64_t expected = 2 * (8'000 + 700) + 2'500 + 10'000 + 4 * 5'000 + 2 * (4'000 + 800) +
                                5'000 + 6'000 + 1'500 + copying + 5'000 + 5'000;
  EXPECT_NEAR(static_cast<double>(one.p50.count()), static_cast<double>(expected), 20);
}

TEST(SimulatedWorkload, ClientsShareTheCoresAndNoneIsFasterThanTheThreadOfTheNode) {
  const Workload large{.operation = Operation::get, .size = 16_MiB};
  const double alone = run(large).bytes_per_second();
  EXPECT_NEAR(alone, 2e9, 2e9 * 0.01);  // a thread at each end
  Workload four = large;
  four.clients = 4;
  EXPECT_NEAR(run(four).bytes_per_second(), 2e9, 2e9 * 0.01);  // of the node, and of the cores
  EXPECT_NEAR(run(four, 1).bytes_per_second(), 1e9, 1e9 * 0.01);
}

TEST(SimulatedWorkload, OfSmallValuesManyClientsUseAllCoresAndNoMore) {
  const Workload small{.operation = Operation::get, .size = 4_KiB, .clients = 4, .batch = 128};
  const WorkloadRun two = run(small, 2);
  const WorkloadRun many = run(small, 64);
  // Processor time of an item at least: client, master, node and copies at both ends.
  constexpr double item = 2'000 + 500 + 1'000 + 2 * copying;
  EXPECT_LT(two.bytes_per_second(), 2 * 4096e9 / item);
  EXPECT_GT(two.bytes_per_second(), 0.8 * 2 * 4096e9 / item);
  // With cores for all of them the node's one thread is what is full.
  EXPECT_GT(many.bytes_per_second(), two.bytes_per_second() * 1.05);
  EXPECT_LT(many.bytes_per_second(), 4096e9 / (1'000 + copying));
}

TEST(SimulatedWorkload, InOneProcessOneCoreDoesItAll) {
  Workload workload{
      .transport = CalibratedTransport::local, .operation = Operation::get, .size = 16_MiB};
  EXPECT_NEAR(run(workload).bytes_per_second(), 1e9, 1e9 * 0.01);  // copied once for each end
  workload.clients = 2;
  EXPECT_NEAR(run(workload).bytes_per_second(), 1e9, 1e9 * 0.01);
}

TEST(SimulatedWorkload, OfMixedCallsEveryFourthIsAPut) {
  const double get = 1 / run({.operation = Operation::get, .size = 4_KiB}).bytes_per_second();
  const double put = 1 / run({.operation = Operation::put, .size = 4_KiB}).bytes_per_second();
  const double mixed = 1 / run({.operation = Operation::mixed, .size = 4_KiB}).bytes_per_second();
  EXPECT_NEAR(mixed, (3 * get + put) / 4, mixed * 0.01);
}

TEST(SimulatedWorkload, PutsAndCallsThatAreNotWarmTakeMoreForEachMib) {
  CallCosts costs = round_call_costs();
  costs.fill_mib = costs.cold_mib = {.value = 100'000, .low = 100'000, .high = 100'000};
  const auto took = [&](Operation operation, std::uint32_t batch) {
    const Workload workload{.operation = operation, .size = 16_MiB, .batch = batch};
    return [=](const CallCosts& with) {
      return static_cast<double>(simulate(machine_of(2), values_of(with), workload, 1).p50.count());
    };
  };
  const auto more = [&](Operation operation, std::uint32_t batch) {
    return took(operation, batch)(costs) - took(operation, batch)(round_call_costs());
  };
  EXPECT_NEAR(more(Operation::put, 1), 16 * 100'000, 10);
  EXPECT_NEAR(more(Operation::get, 1), 0, 10);
  EXPECT_NEAR(more(Operation::get, 2), 16 * 100'000, 10);
}

TEST(SimulatedWorkload, IsTheSameForTheSameSeed) {
  const Workload workload{.operation = Operation::mixed, .size = 64_KiB, .clients = 4, .batch = 8};
  EXPECT_EQ(run(workload), run(workload));
}

}  // namespace
}  // namespace larder::sim
