#include "proto/calibration/calibration_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace larder {
namespace {

using testing::HasSubstr;

const CalibratedMachine machine{.processor = "a processor",
                                .cores = 2,
                                .memory = {1'000'000},
                                .cache = {32 << 20},
                                .kernel = "6.1.0",
                                .program = "larder 0.1.0",
                                .date = "2026-11-30T12:00:00Z",
                                .others_permille = 12};

CalibratedCosts some_costs() {
  CallCosts costs;
  std::uint64_t number = 0;
  for (const auto& [name, member] : cost_names) {
    number += 10;
    costs.*member = {.value = number, .low = number - 1, .high = number + 2};
  }
  costs.thread_rate = {.value = 2'000'000'000, .low = 1'900'000'000, .high = 2'100'000'000};
  return {.machine = machine,
          .transports = {{.transport = CalibratedTransport::local, .costs = costs},
                         {.transport = CalibratedTransport::tcp, .costs = costs}},
          .not_measured = {{.what = "shm", .why = "there is none"}}};
}

WorkloadRun some_run() {
  return {.time = Duration(1'000'000),
          .moved = {4096},
          .calls = 1,
          .p50 = Duration(5),
          .p99 = Duration(6),
          .master_cpu = Duration(1),
          .node_cpu = Duration(2),
          .client_cpu = Duration(3),
          .others_cpu = Duration(4)};
}

Measurements some_measurements() {
  return {.machine = machine,
          .workloads = {{.workload = {.transport = CalibratedTransport::tcp,
                                      .operation = Workload::Operation::mixed,
                                      .size = {4096},
                                      .clients = 4,
                                      .batch = 128},
                         .runs = {some_run(), some_run()}},
                        {.workload = {.transport = CalibratedTransport::local,
                                      .operation = Workload::Operation::get,
                                      .size = {4096}},
                         .runs = {some_run(), some_run()}}},
          .not_measured = {{.what = "shm", .why = "there is none"}}};
}

TEST(CalibrationFiles, AreReadBackAsTheyWereWritten) {
  const auto costs = read_costs(write_costs(some_costs()));
  ASSERT_TRUE(costs) << costs.error().message();
  EXPECT_EQ(*costs, some_costs());
  const auto measurements = read_measurements(write_measurements(some_measurements()));
  ASSERT_TRUE(measurements) << measurements.error().message();
  EXPECT_EQ(*measurements, some_measurements());
}

struct Bad {
  std::string from;  // the first of it, as it is written
  std::string to;
  std::string error;  // a part of what is said
};

std::string damaged(std::string text, const Bad& bad) {
  const std::size_t at = text.find(bad.from);
  EXPECT_NE(at, std::string::npos) << bad.from;
  return text.replace(at, bad.from.size(), bad.to);
}

template <class T>
void expect_refused(const Result<T>& read, const Bad& bad) {
  ASSERT_FALSE(read) << bad.to;
  EXPECT_EQ(read.error().code(), ErrorCode::bad_file);
  EXPECT_THAT(read.error().facts().detail, HasSubstr(bad.error));
}

TEST(CalibrationFiles, WhatIsWrongInCostsIsSaidWithItsPlace) {
  const std::vector<Bad> all{
      {"\"machine\"", "\"machines\"", "the file: 'machines' is no key here: there are machine"},
      {"\"cores\": 2", "\"cores\": 0", "/machine/cores: 0 is not from 1 to 4096"},
      {"\"a processor\"", "7", "/machine/processor: number where a text belongs"},
      {"\"others_permille\": 12", "\"others_permille\": 1001",
       "/machine/others_permille: 1001 is not from 0 to 1000"},
      {"\"local\"", "\"shm\"", "/transports/0/transport: 'shm' is none of local, tcp"},
      {"\"local\"", "\"tcp\"", "/transports/1/transport: it stands above already"},
      {"\"message_ns\"", "\"message_s\"", "/transports/0: 'message_s' is no key here"},
      {"\"low\": 9", "\"low\": 11",
       "/transports/0/hand_over_ns: 10 does not lie between its bounds, 11 and 12"},
      {"\"low\": 1900000000", "\"low\": 999999",
       "/transports/0/thread_bytes_per_second: 999999: a thread moves at least 1000000 bytes"},
      {"\"high\": 12", "\"high\": 1000000000001",
       "/transports/0/hand_over_ns/high: 1000000000001 is not from 0 to 1000000000000"},
      {"\"a processor\"", "\"\\u001b[31mred\"",
       "/machine/processor: wants at most 200 bytes of text without control characters, not "
       "'\\x1b[31mred'"},
      {"\"6.1.0\"", "\"" + std::string(201, 'x') + "\"",
       "/machine/kernel: wants at most 200 bytes"},
      {"\"value\": 10", "\"value\": -1", "/transports/0/hand_over_ns/value: -1 is no whole number"},
      {"\"high\": 12", "\"high\": 1e16", "/transports/0/hand_over_ns/high: "},
      {"\"why\"", "\"because\"", "/not_measured/0: 'because' is no key here"},
      {"{", "[", "the file: no JSON"},
  };
  for (const Bad& bad : all)
    expect_refused(read_costs(damaged(write_costs(some_costs()), bad)), bad);
}

TEST(CalibrationFiles, WhatIsWrongInMeasurementsIsSaidWithItsPlace) {
  const std::vector<Bad> all{
      {"\"mixed\"", "\"all\"", "/workloads/0/operation: 'all' is none of get, put, mixed"},
      {"\"clients\": 4", "\"clients\": 0", "/workloads/0/clients: 0 is not from 1 to 1024"},
      {"\"batch\": 128", "\"batch\": 16385", "/workloads/0/batch: 16385 is not from 1 to 16384"},
      {"\"value_bytes\": 4096", "\"value_bytes\": 0", "/workloads/0/value_bytes: 0 is not from 1"},
      {"\"time_ns\": 1000000", "\"time_ns\": 0", "/workloads/0/runs/0/time_ns: 0 is not from 1"},
      {"\"moved_bytes\": 4096", "\"moved_bytes\": 0", "/workloads/0/runs/0/moved_bytes: 0 is not"},
      {"\"calls\": 1", "\"calls\": 0", "/workloads/0/runs/0/calls: 0 is not from 1"},
      {"\"p99_ns\": 6", "\"p99_ns\": 1e13", "/workloads/0/runs/0/p99_ns: 10000000000000 is not"},
      {"\"p99_ns\": 6", "\"p99_ns\": 4", "/workloads/0/runs/0/p99_ns: 4 is below p50_ns"},
      {"\"p50_ns\": 5", "\"p50_ns\": true", "/workloads/0/runs/0/p50_ns: boolean where a number"},
      {"\"master_cpu_ns\": 1", "\"cpu\": 1", "/workloads/0/runs/0: 'cpu' is no key here"},
  };
  for (const Bad& bad : all) {
    expect_refused(read_measurements(damaged(write_measurements(some_measurements()), bad)), bad);
  }
}

TEST(CalibrationFiles, WorkloadsAreDifferentAndHaveEquallyManyRuns) {
  Measurements none = some_measurements();
  none.workloads.clear();
  expect_refused(read_measurements(write_measurements(none)),
                 {{}, {}, "/workloads: there is none"});

  Measurements twice = some_measurements();
  twice.workloads[1] = twice.workloads[0];
  expect_refused(read_measurements(write_measurements(twice)),
                 {{}, {}, "/workloads/1: 'tcp mixed 4.00 KiB, 4 x 128' stands above already"});

  Measurements uneven = some_measurements();
  uneven.workloads[1].runs.pop_back();
  expect_refused(read_measurements(write_measurements(uneven)),
                 {{}, {}, "/workloads/1/runs: 1 runs, but the first workload has 2"});

  Measurements without = some_measurements();
  without.workloads[0].runs.clear();
  expect_refused(read_measurements(write_measurements(without)),
                 {{}, {}, "/workloads/0/runs: 0 runs: there are 1 to 1000"});
}

}  // namespace
}  // namespace larder
