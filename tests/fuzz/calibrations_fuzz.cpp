#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/base/assert.h"
#include "proto/calibration/calibration_files.h"
#include "proto/hardware/hardware_file.h"
#include "sim/calibration/simulated_workload.h"
#include "sim/calibration/validate.h"
#include "tests/fuzzing/checks.h"
#include "tests/fuzzing/json_patch.h"

// The files of a calibrated machine, as validate reads them. The first byte says which, and whether
// the rest is that file or changes of a right one. What is accepted is written as a file that means
// the same, and all three together either are simulated or are refused.

namespace larder::sim {
namespace {

using nlohmann::ordered_json;

const ordered_json& right_host() {
  static const ordered_json host = ordered_json::parse(R"({
    "hosts": [{"name": "this-machine", "count": 1, "cores": 2,
      "parts": [{"name": "socket0", "kind": "socket"},
        {"name": "dram0", "kind": "dram", "capacity_bytes": 8e9},
        {"name": "root0", "kind": "root-port"},
        {"name": "nic0", "kind": "nic", "bytes_per_second": 4e9, "messages_per_second": 2e8,
         "rail": 0}],
      "links": [{"between": ["socket0", "dram0"], "bytes_per_second": 1e10, "latency_ns": 0},
        {"between": ["socket0", "root0"], "bytes_per_second": 4e9, "latency_ns": 0},
        {"between": ["root0", "nic0"], "bytes_per_second": 4e9, "latency_ns": 0}]}]})");
  return host;
}

CalibratedMachine machine() {
  return {.processor = "a processor",
          .cores = 2,
          .memory = Bytes{8ull << 30},
          .cache = Bytes{32ull << 20},
          .kernel = "6.1",
          .program = "larder 1",
          .date = "2026-01-01T00:00:00Z"};
}

const ordered_json& right_costs() {
  static const ordered_json file = [] {
    CalibratedCosts costs{.machine = machine(),
                          .transports = {{.transport = CalibratedTransport::local, .costs = {}},
                                         {.transport = CalibratedTransport::tcp, .costs = {}}},
                          .not_measured = {{.what = "shm", .why = "there is none"}}};
    for (TransportCosts& transport : costs.transports) {
      for (const auto& [name, member] : cost_names) {
        transport.costs.*member = {.value = 2'000, .low = 1'000, .high = 3'000};
      }
      transport.costs.thread_rate = {
          .value = 2'000'000'000, .low = 1'000'000'000, .high = 3'000'000'000};
    }
    return ordered_json::parse(write_costs(costs));
  }();
  return file;
}

const ordered_json& right_measurements() {
  static const ordered_json file = [] {
    const auto ns = [](std::int64_t count) { return Duration(count); };
    const WorkloadRun run{.time = ns(250'000'000),
                          .moved = Bytes{100 << 20},
                          .calls = 100,
                          .p50 = ns(2'000'000),
                          .p99 = ns(4'000'000),
                          .master_cpu = ns(1'000'000),
                          .node_cpu = ns(50'000'000),
                          .client_cpu = ns(60'000'000),
                          .others_cpu = ns(1'000'000)};
    const Measurements measurements{
        .machine = machine(),
        .workloads = {{.workload = {.operation = Workload::Operation::get,
                                    .size = Bytes{64 << 10},
                                    .clients = 2,
                                    .batch = 4},
                       .runs = {run}},
                      {.workload = {.transport = CalibratedTransport::local,
                                    .operation = Workload::Operation::mixed,
                                    .size = Bytes{4 << 10}},
                       .runs = {run}}},
        .not_measured = {}};
    return ordered_json::parse(write_measurements(measurements));
  }();
  return file;
}

void check_machine(const CalibratedMachine& machine) {
  LARDER_ASSERT(machine.cores > 0 && machine.others_permille <= 1'000);
  for (const std::string& text :
       {machine.processor, machine.kernel, machine.program, machine.date}) {
    check_line(text);
  }
}

void check_simulation(const Hardware& host, const CalibratedCosts& costs,
                      const Measurements& measurements) {
  const Status checked = check_calibration(host, costs, measurements);
  if (!checked) return check_refusal(checked.error(), ErrorCode::invalid_params);
  for (const auto& [workload, runs] : measurements.workloads) {
    if (std::uint64_t{workload.clients} * workload.batch > 32) continue;
    const WorkloadRun predicted =
        simulate(host, values_of(*costs.find(workload.transport)), workload, 1);
    LARDER_ASSERT(predicted.time > Duration(0) && predicted.moved > Bytes{});
    LARDER_ASSERT(std::isfinite(predicted.bytes_per_second()) && predicted.bytes_per_second() > 0);
    LARDER_ASSERT(predicted.p50 > Duration(0) && predicted.p50 <= predicted.p99);
    break;
  }
}

template <class Read, class Write>
auto read_and_write(const std::string& text, Read read, Write write) {
  auto value = read(text);
  if (!value) {
    check_refusal(value.error(), ErrorCode::bad_file);
    return value;
  }
  const std::string written = write(*value);
  const auto again = read(written);
  LARDER_ASSERT(again.has_value(), "what was accepted is accepted again");
  LARDER_ASSERT(*again == *value && write(*again) == written, "and means the same");
  return value;
}

void check(char kind, std::string_view rest) {
  const auto text = [&](char file, char changes, const ordered_json& right) {
    if (kind == file) return std::string(rest);
    return kind == changes ? patched(right, rest) : right.dump();
  };
  const auto host = read_and_write(text('h', 'H', right_host()), read_hardware, write_hardware);
  const auto costs = read_and_write(text('c', 'C', right_costs()), read_costs, write_costs);
  const auto measurements =
      read_and_write(text('m', 'M', right_measurements()), read_measurements, write_measurements);
  if (costs) check_machine(costs->machine);
  if (measurements) {
    check_machine(measurements->machine);
    for (const auto& [workload, runs] : measurements->workloads) {
      check_line(to_string(workload));
      for (const WorkloadRun& run : runs) {
        LARDER_ASSERT(std::isfinite(run.bytes_per_second()) && run.bytes_per_second() > 0);
      }
    }
  }
  if (host && costs && measurements) check_simulation(*host, *costs, *measurements);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return check_by_kind(data, size, check);
}

}  // namespace larder::sim
