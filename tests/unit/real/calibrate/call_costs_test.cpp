#include "real/calibrate/call_costs.h"

#include <gtest/gtest.h>

namespace larder::real {
namespace {

// As calls would be that take exactly this: of `batch` items of `size`.
WorkloadRun run_of(Bytes size, std::uint32_t batch, double master, double node, double client) {
  constexpr std::uint64_t calls = 1'000;
  const auto used = [](double each) {
    return Duration(static_cast<std::int64_t>(each * static_cast<double>(calls)));
  };
  return {.time = Duration(1'000'000'000),
          .moved = size * batch * calls,
          .calls = calls,
          .p50 = Duration(100'000),
          .p99 = Duration(200'000),
          .master_cpu = used(master),
          .node_cpu = used(node),
          .client_cpu = used(client),
          .others_cpu = Duration(0)};
}

constexpr double byte = 0.25;  // nanoseconds, at each end
constexpr double small_bytes = 4096 * byte;
constexpr double large_bytes = 16.0 * (1 << 20) * byte;

CostRuns runs_over_tcp() {
  constexpr std::uint32_t many = CostRuns::many;
  const auto small = [](std::uint32_t batch, double master, double node, double client) {
    return run_of(CostRuns::small, batch, master, node, client);
  };
  return {
      .exists_one = small(1, 5'000 + 300, 0, 9'000 + 700),
      .exists_many = small(many, 5'000 + 300 * many, 0, 9'000 + 700 * many),
      .get_one = small(1, 5'000 + 500, 6'000 + 1'000 + small_bytes, 9'000 + 2'700 + small_bytes),
      .get_many = small(many, 5'000 + 500 * many, 6'000 + (1'000 + small_bytes) * many,
                        9'000 + (2'700 + small_bytes) * many),
      .get_large = run_of(CostRuns::large, 1, 0, large_bytes, large_bytes),
      .get_cold = run_of(CostRuns::large, CostRuns::too_many, 0, 2 * large_bytes, 2 * large_bytes),
      .put_one =
          small(1, 10'000 + 1'600, 6'000 + 1'500 + small_bytes, 18'000 + 3'900 + small_bytes),
      .put_many = small(many, 10'000 + 1'600 * many, 6'000 + (1'500 + small_bytes) * many,
                        18'000 + (3'900 + small_bytes) * many),
      .put_large = run_of(CostRuns::large, 1, 0, large_bytes, large_bytes)};
}

TEST(CallCosts, AreWhatTheCallsUsedStepByStep) {
  const CallCosts costs = costs_of(runs_over_tcp(), CalibratedTransport::tcp);
  const auto expect = [](const Figure& figure, double value) {
    EXPECT_NEAR(static_cast<double>(figure.value), value, 2) << value;
    EXPECT_EQ(figure.low, figure.value);
    EXPECT_EQ(figure.high, figure.value);
  };
  expect(costs.request, 5'000);
  expect(costs.existence, 300);
  expect(costs.lookup, 500);
  expect(costs.put_start, 800);
  expect(costs.put_end, 800);
  expect(costs.node_request, 6'000);
  expect(costs.node_read, 1'000);
  expect(costs.node_fill, 1'500);
  expect(costs.client_request, 9'000);
  expect(costs.client_item, 700);
  expect(costs.client_get, 2'000);
  expect(costs.client_put, 2'500);
  EXPECT_NEAR(static_cast<double>(costs.thread_rate.value), 4e9, 4e4);
  EXPECT_EQ(costs.fill_mib.value, 0u);
  EXPECT_EQ(costs.cold_mib.value, 0u);
  // 100 us for a question, of which the processors had 15.
  expect(costs.hand_over, 85'000.0 / 2);
  expect(costs.message, 85'000.0 / 4);
}

TEST(CallCosts, OfPutsAndOfReadsThatNoCacheHoldsAreWhatTheyTakeMore) {
  CostRuns runs = runs_over_tcp();
  runs.put_large.node_cpu += Duration(1'000 * 16 * 5'000);  // of 1,000 calls of 16 MiB
  runs.get_cold.client_cpu += Duration(1'000 * 32 * 7'000);
  const CallCosts costs = costs_of(runs, CalibratedTransport::tcp);
  EXPECT_NEAR(static_cast<double>(costs.fill_mib.value), 5'000, 2);
  EXPECT_NEAR(static_cast<double>(costs.cold_mib.value), 14'000, 2) << "of half of the bytes";
}

TEST(CallCosts, InOneProcessAllIsTheClients) {
  CostRuns runs = runs_over_tcp();
  for (WorkloadRun* run : {&runs.exists_one, &runs.exists_many, &runs.get_one, &runs.get_many,
                           &runs.get_large, &runs.put_one, &runs.put_many, &runs.put_large}) {
    run->client_cpu += run->master_cpu + run->node_cpu;
    run->master_cpu = run->node_cpu = Duration(0);
  }
  const CallCosts costs = costs_of(runs, CalibratedTransport::local);
  EXPECT_EQ(costs.request.value, 0u);
  EXPECT_EQ(costs.message.value, 0u);
  EXPECT_EQ(costs.node_read.value, 0u);
  EXPECT_EQ(costs.put_start.value, 0u);
  // What master, node and client do for an item, but to ask whether it exists.
  EXPECT_NEAR(static_cast<double>(costs.client_item.value), 300 + 700, 2);
  EXPECT_NEAR(static_cast<double>(costs.client_get.value), 500 + 1'000 + 2'700 - 1'000, 2);
  EXPECT_NEAR(static_cast<double>(costs.client_put.value), 1'600 + 1'500 + 3'900 - 2'000, 2);
  EXPECT_NEAR(static_cast<double>(costs.thread_rate.value), 4e9, 4e4);
}

// What is measured has noise: differences may come out below zero.
TEST(CallCosts, AreNeverBelowZero) {
  CostRuns runs = runs_over_tcp();
  runs.get_many.master_cpu = Duration(0);
  runs.exists_one.client_cpu = Duration(1'000'000'000'000);
  const CallCosts costs = costs_of(runs, CalibratedTransport::tcp);
  EXPECT_EQ(costs.lookup.value, 0u);
  EXPECT_EQ(costs.hand_over.value, 0u);
}

TEST(CallCosts, OfSeveralRunsAreTheMiddleBetweenTheirBounds) {
  std::vector<CallCosts> all(3);
  const std::uint64_t values[] = {7, 5, 11};
  for (std::size_t i = 0; i < 3; ++i) {
    all[i].request = {.value = values[i], .low = values[i], .high = values[i]};
  }
  EXPECT_EQ(middle_of(all).request, (Figure{.value = 7, .low = 5, .high = 11}));
}

}  // namespace
}  // namespace larder::real
