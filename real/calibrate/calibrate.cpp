#include "real/calibrate/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/size_text.h"
#include "proto/calibration/calibration_files.h"
#include "proto/hardware/hardware_file.h"
#include "real/calibrate/call_costs.h"
#include "real/calibrate/machine_rates.h"
#include "real/rpc/log.h"
#include "real/system/machine_facts.h"

namespace larder::real {
namespace {

using Operation = Workload::Operation;
using Progress = std::function<void(double, const std::string&)>;

constexpr std::uint32_t cost_runs = 9;  // CostRuns has so many
constexpr Bytes call_max{32 << 20};     // of a batch: longer ones tell nothing new

struct Clients {
  std::uint32_t clients;
  std::uint32_t batch;
};

// As many of the batch as fit into a call.
void add(std::vector<Workload>& workloads, Workload workload) {
  workload.batch = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(call_max / workload.size, 1, workload.batch));
  if (std::ranges::count(workloads, workload) == 0) workloads.push_back(workload);
}

class Calibrator {
 public:
  Calibrator(const CalibrationPlan& plan, const Progress& progress)
      : plan_(plan), progress_(progress) {}

  Result<Calibration> run() {
    Calibration calibration;
    calibration.measurements.machine = describe_machine();
    LARDER_CHECK(check_memory());
    calibration.nics = read_nics();
    log_excluded(calibration.nics);
    LARDER_CHECK(measure_machine(calibration.measurements.machine.cores));
    for (const Workload& workload : plan_.workloads) {
      calibration.measurements.workloads.push_back({.workload = workload, .runs = {}});
    }
    // Over one transport after the other, since each has a pool of its own.
    for (const auto& [name, transport] : transport_names) {
      if (!std::ranges::count(plan_.workloads, transport, &Workload::transport)) continue;
      LARDER_CHECK(measure(transport, calibration));
    }
    finish(calibration);
    return calibration;
  }

 private:
  void tell(const std::string& what) {
    const std::size_t steps =
        plan_.runs * (2 + plan_.workloads.size() + cost_runs * transport_names.size());
    progress_(std::min(1.0, static_cast<double>(done_) / static_cast<double>(steps)), what);
  }

  // The pool, a buffer for each client, and as much again for whoever else is there.
  Status check_memory() const {
    const std::optional<Bytes> available = read_machine_facts().memory_available;
    const Bytes needed = plan_.memory + call_max * 8;
    if (!available || *available >= needed) return {};
    return failed(ErrorCode::no_available_handle,
                  fmt::format("{} of memory are available, and {} are needed",
                              size_text(*available), size_text(needed)));
  }

  Status measure_machine(std::uint32_t cores) {
    for (std::uint32_t run = 0; run < plan_.runs; ++run) {
      tell("memory");
      LARDER_TRY(const Bytes memory, memory_rate(cores, plan_.machine_time));
      memory_rates_.push_back(memory.value);
      ++done_;
      tell("loopback");
      LARDER_TRY(const Bytes loopback, loopback_rate(plan_.machine_time));
      loopback_rates_.push_back(loopback.value);
      ++done_;
    }
    return {};
  }

  Status measure(CalibratedTransport transport, Calibration& calibration) {
    LARDER_TRY(WorkloadPool pool, WorkloadPool::start(transport, plan_.memory));
    std::set<Bytes> sizes{CostRuns::small, CostRuns::large};
    for (const Workload& workload : plan_.workloads) sizes.insert(workload.size);
    for (const Bytes size : sizes) LARDER_CHECK(pool.store(size));
    std::vector<CallCosts> costs;
    for (std::uint32_t run = 0; run < plan_.runs; ++run) {
      tell(fmt::format("what a call costs, run {}", run + 1));
      LARDER_TRY(const CostRuns runs, measure_costs(pool, transport, plan_.time));
      costs.push_back(costs_of(runs, transport));
      done_ += cost_runs;
      for (MeasuredWorkload& each : calibration.measurements.workloads) {
        if (each.workload.transport != transport) continue;
        tell(fmt::format("{}, run {}", to_string(each.workload), run + 1));
        LARDER_TRY(WorkloadRun result, pool.run(each.workload, plan_.time));
        each.runs.push_back(result);
        ++done_;
      }
    }
    calibration.costs.transports.push_back({.transport = transport, .costs = middle_of(costs)});
    return {};
  }

  void finish(Calibration& calibration) {
    Measurements& measurements = calibration.measurements;
    Duration all{0};
    Duration others{0};
    for (const MeasuredWorkload& each : measurements.workloads) {
      for (const WorkloadRun& run : each.runs) {
        all += run.time * measurements.machine.cores;
        others += run.others_cpu;
      }
    }
    if (all > Duration(0)) {
      measurements.machine.others_permille =
          static_cast<std::uint32_t>(std::min<std::int64_t>(1'000, others * 1'000 / all));
    }
    measurements.not_measured = {
        {.what = "shm", .why = "this version has no such transport"},
        {.what = "registration", .why = "this version has no verbs transport, which registers"}};
    calibration.costs.machine = measurements.machine;
    calibration.costs.not_measured = measurements.not_measured;
    calibration.rates = {.cores = measurements.machine.cores,
                         .memory = measurements.machine.memory,
                         .memory_per_second = {figure_of(memory_rates_).value},
                         .loopback_per_second = {figure_of(loopback_rates_).value}};
    HardwareHost host = machine_host(read_numa_nodes(), calibration.nics, calibration.rates);
    host.costs.tcp_per_second = calibration.rates.loopback_per_second;
    if (const CallCosts* tcp = calibration.costs.find(CalibratedTransport::tcp)) {
      host.costs.tcp_per_second = {tcp->thread_rate.value};
      host.costs.completion = Duration(static_cast<std::int64_t>(tcp->message.value));
    }
    calibration.host = {.hosts = {std::move(host)}, .network = {.nic_to_leaf = Duration(0)}};
  }

  const CalibrationPlan& plan_;
  const Progress& progress_;
  std::size_t done_ = 0;
  std::vector<std::uint64_t> memory_rates_;
  std::vector<std::uint64_t> loopback_rates_;
};

}  // namespace

CalibrationPlan full_plan() {
  CalibrationPlan plan;
  const auto all = [&](CalibratedTransport transport, std::vector<Clients> shapes) {
    for (const Operation operation : {Operation::get, Operation::put, Operation::mixed}) {
      for (const Bytes size : {4_KiB, 64_KiB, 1_MiB, 16_MiB}) {
        for (const auto [clients, batch] : shapes) {
          add(plan.workloads, {.transport = transport,
                               .operation = operation,
                               .size = size,
                               .clients = clients,
                               .batch = batch});
        }
      }
    }
  };
  all(CalibratedTransport::local, {{1, 1}, {1, 16}, {2, 128}});
  all(CalibratedTransport::tcp, {{1, 1}, {1, 128}, {2, 8}, {4, 1}, {4, 32}});
  return plan;
}

CalibrationPlan quick_plan() {
  CalibrationPlan plan{.runs = 2,
                       .time = {.warm_up = std::chrono::milliseconds(2),
                                .measured = std::chrono::milliseconds(5),
                                .calls_min = 2},
                       .machine_time = std::chrono::milliseconds(5),
                       .memory = 384_MiB};
  const auto tcp = CalibratedTransport::tcp;
  const auto local = CalibratedTransport::local;
  plan.workloads = {
      {.transport = local, .operation = Operation::get, .size = 64_KiB, .batch = 4},
      {.transport = local, .operation = Operation::put, .size = 64_KiB, .batch = 4},
      {.transport = tcp, .operation = Operation::get, .size = 4_KiB},
      {.transport = tcp, .operation = Operation::get, .size = 1_MiB, .clients = 2, .batch = 4},
      {.transport = tcp, .operation = Operation::put, .size = 4_KiB, .batch = 128},
      {.transport = tcp, .operation = Operation::put, .size = 1_MiB},
      {.transport = tcp, .operation = Operation::mixed, .size = 64_KiB, .clients = 2}};
  return plan;
}

Duration duration_of(const CalibrationPlan& plan) {
  const Duration each = plan.time.warm_up + plan.time.measured;
  const auto runs =
      static_cast<std::int64_t>(plan.workloads.size() + cost_runs * transport_names.size());
  return plan.runs * (runs * each + 2 * plan.machine_time);
}

void log_excluded(const MachineNics& nics) {
  for (const auto& [name, reason] : nics.excluded) {
    log(LogLevel::warn, "calibrate", "a NIC is not used", {{"nic", name}, {"why", reason}});
  }
}

Result<Calibration> calibrate(const CalibrationPlan& plan, const Progress& progress) {
  return Calibrator(plan, progress).run();
}

std::vector<CalibrationFile> files_of(const Calibration& calibration) {
  return {{.name = "host.json", .text = write_hardware(calibration.host)},
          {.name = "costs.json", .text = write_costs(calibration.costs)},
          {.name = "measured.json", .text = write_measurements(calibration.measurements)}};
}

}  // namespace larder::real
