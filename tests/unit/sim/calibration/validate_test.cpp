#include "sim/calibration/validate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/sim/calibration/machine.h"

namespace larder::sim {

using namespace literals;

namespace {

using Operation = Workload::Operation;

std::vector<Workload> some_workloads() {
  std::vector<Workload> workloads;
  for (const Operation operation : {Operation::get, Operation::put}) {
    for (const Bytes size : {4_KiB, 1_MiB}) {
      for (const auto [clients, batch] : {std::pair{1u, 1u}, {1u, 16u}, {4u, 4u}}) {
        workloads.push_back(
            {.operation = operation, .size = size, .clients = clients, .batch = batch});
      }
    }
  }
  return workloads;
}

// As the simulator itself says with these costs, in runs that are faster and slower by this share.
Measurements measured(const CallCosts& costs, double spread) {
  Measurements measurements;
  for (const Workload& workload : some_workloads()) {
    const WorkloadRun run = simulate(machine_of(2), values_of(costs), workload, 1);
    MeasuredWorkload& each = measurements.workloads.emplace_back();
    each.workload = workload;
    for (const double factor : {1.0, 1 + spread, 1 - spread}) {
      WorkloadRun other = run;
      other.moved = {static_cast<std::uint64_t>(static_cast<double>(run.moved.value) * factor)};
      each.runs.push_back(other);
    }
  }
  return measurements;
}

CalibratedCosts costs_file(const CallCosts& costs) {
  return {.machine = {},
          .transports = {{.transport = CalibratedTransport::tcp, .costs = costs}},
          .not_measured = {}};
}

Result<Validation> validated(const CallCosts& start, const Measurements& measurements) {
  // Not as exactly as by default, which takes longer.
  constexpr ValidationRules rules{.fit = {.first_step = 1.4, .last_step = 1.1, .rounds_max = 8},
                                  .refit = {.first_step = 1.1, .last_step = 1.04, .rounds_max = 1}};
  return validate(machine_of(2), costs_file(start), measurements, rules, [](double) {});
}

TEST(Validate, FindsTheCostsThatMadeTheMeasurements) {
  CallCosts start = round_call_costs();
  for (Figure CallCosts::* member : {&CallCosts::client_request, &CallCosts::thread_rate,
                                     &CallCosts::client_get, &CallCosts::message}) {
    (start.*member).value *= 2;
    (start.*member).high = (start.*member).value;
  }
  const auto validation = validated(start, measured(round_call_costs(), 0.01));
  ASSERT_TRUE(validation) << validation.error().message();
  const Errors judged = validation->errors({}).value();
  EXPECT_LT(judged.median, 0.05);
  EXPECT_LT(judged.worst, 0.20);
  const auto rate = (validation->costs.transports[0].costs.thread_rate).value;
  EXPECT_NEAR(static_cast<double>(rate), 2e9, 0.05 * 2e9);
}

TEST(Validate, EverySecondWorkloadJudgesAndIsNoPartOfTheFit) {
  const Measurements all = measured(round_call_costs(), 0.02);
  const auto validation = validated(round_call_costs(), all).value();
  ASSERT_EQ(validation.workloads.size(), all.workloads.size());
  for (std::size_t i = 0; i < all.workloads.size(); ++i) {
    EXPECT_EQ(validation.workloads[i].workload, all.workloads[i].workload);
    const bool gets = validation.workloads[i].workload.operation == Operation::get;
    EXPECT_EQ(validation.workloads[i].fitted, gets == (i % 2 == 0));
  }
  // Other figures of those that judge: the same costs.
  Measurements other = all;
  for (std::size_t i = 0; i < other.workloads.size(); ++i) {
    if (validation.workloads[i].fitted) continue;
    for (WorkloadRun& run : other.workloads[i].runs) run.moved = run.moved * 3;
  }
  const auto again = validated(round_call_costs(), other).value();
  EXPECT_EQ(again.costs, validation.costs);
  EXPECT_GT(again.errors({})->median, 0.5);
}

TEST(Validate, IntervalsHoldWhatTheFitsToSingleRunsSay) {
  CallCosts start = round_call_costs();
  start.request.low = 3'000;
  start.request.high = 7'000;
  const auto validation = validated(start, measured(round_call_costs(), 0.10)).value();
  const CallCosts& fitted = validation.costs.transports.front().costs;
  EXPECT_EQ(fitted.request, start.request) << "taken as it was measured, with its interval";
  EXPECT_LT(fitted.client_request.low, fitted.client_request.high);
  double wide = 0;
  for (const ValidatedWorkload& each : validation.workloads) {
    const Compared& rate = each.bytes_per_second;
    EXPECT_LE(rate.predicted.low, rate.predicted.value);
    EXPECT_LE(rate.predicted.value, rate.predicted.high);
    EXPECT_NEAR(rate.spread(), 0.20, 0.001);
    wide = std::max(wide, (rate.predicted.high - rate.predicted.low) / rate.predicted.value);
  }
  EXPECT_GT(wide, 0.05);
  EXPECT_LT(wide, 0.40);
}

TEST(Compared, ErrorsAreSharesOfTheMeasuredOne) {
  const Compared compared{.measured = {.value = 100, .low = 90, .high = 120},
                          .predicted = {.value = 130, .low = 130, .high = 130}};
  EXPECT_DOUBLE_EQ(compared.error(), 0.3);
  EXPECT_DOUBLE_EQ(compared.error_beyond_spread(), 0.1);
  EXPECT_DOUBLE_EQ(compared.spread(), 0.3);
  const Compared within{.measured = {.value = 100, .low = 90, .high = 120},
                        .predicted = {.value = 95, .low = 95, .high = 95}};
  EXPECT_DOUBLE_EQ(within.error_beyond_spread(), 0);
}

TEST(Validate, WhatCannotBeSimulatedIsSaid) {
  const auto refused = [](const Hardware& host, const CalibratedCosts& costs,
                          const Measurements& measurements) {
    const auto validation = validate(host, costs, measurements, {}, [](double) {});
    return validation ? std::string() : validation.error().message();
  };
  Measurements one{.machine = {},
                   .workloads = {{.workload = {.size = 4_KiB}, .runs = {{.time = Duration(1)}}}},
                   .not_measured = {}};
  const CalibratedCosts costs = costs_file(round_call_costs());
  EXPECT_NE(refused(machine_of(0), costs, one).find("\"cores\""), std::string::npos);
  EXPECT_NE(refused(machine_of(2), {}, one).find("no costs of this transport"), std::string::npos);
  one.workloads[0].workload = {.size = 1_GiB, .batch = 3};
  EXPECT_NE(refused(machine_of(2), costs, one).find("more than 2 GiB"), std::string::npos);
  one.workloads[0].workload = {.size = 1_B, .clients = 1'024, .batch = 65};
  EXPECT_NE(refused(machine_of(2), costs, one).find("more than 65536 items at once"),
            std::string::npos);
}

}  // namespace
}  // namespace larder::sim
