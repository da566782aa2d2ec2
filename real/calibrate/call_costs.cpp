#include "real/calibrate/call_costs.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace larder::real {
namespace {

using Operation = Workload::Operation;

// Nanoseconds for each call of what somebody used.
double for_each_call(const WorkloadRun& run, Duration used, Bytes of_a_call) {
  const double calls = static_cast<double>(run.moved.value) / static_cast<double>(of_a_call.value);
  return static_cast<double>(used.count()) / calls;
}

double for_each_byte(const WorkloadRun& run, Duration used) {
  return static_cast<double>(used.count()) / static_cast<double>(run.moved.value);
}

// A line through calls of one item and of many.
struct Line {
  double call = 0;
  double item = 0;
};
Line line_of(const WorkloadRun& one, const WorkloadRun& many, Duration WorkloadRun::* used) {
  const double of_one = for_each_call(one, one.*used, CostRuns::small);
  const double of_many = for_each_call(many, many.*used, CostRuns::small * CostRuns::many);
  const double item = std::max(0.0, (of_many - of_one) / (CostRuns::many - 1));
  return {.call = std::max(0.0, of_one - item), .item = item};
}

Figure exactly(double value) {
  const auto whole = static_cast<std::uint64_t>(std::llround(std::max(0.0, value)));
  return {.value = whole, .low = whole, .high = whole};
}

}  // namespace

Result<CostRuns> measure_costs(WorkloadPool& pool, CalibratedTransport transport,
                               const WorkloadTime& time) {
  CostRuns runs;
  const auto workload = [&](Operation operation, Bytes size, std::uint32_t batch) {
    return Workload{.transport = transport, .operation = operation, .size = size, .batch = batch};
  };
  const Workload one = workload(Operation::get, CostRuns::small, 1);
  const Workload many = workload(Operation::get, CostRuns::small, CostRuns::many);
  LARDER_TRY(runs.exists_one, pool.run_exists(one, time));
  LARDER_TRY(runs.exists_many, pool.run_exists(many, time));
  LARDER_TRY(runs.get_one, pool.run(one, time));
  LARDER_TRY(runs.get_many, pool.run(many, time));
  LARDER_TRY(runs.get_large, pool.run(workload(Operation::get, CostRuns::large, 1), time));
  LARDER_TRY(runs.get_cold,
             pool.run(workload(Operation::get, CostRuns::large, CostRuns::too_many), time));
  LARDER_TRY(runs.put_one, pool.run(workload(Operation::put, CostRuns::small, 1), time));
  LARDER_TRY(runs.put_many,
             pool.run(workload(Operation::put, CostRuns::small, CostRuns::many), time));
  LARDER_TRY(runs.put_large, pool.run(workload(Operation::put, CostRuns::large, 1), time));
  return runs;
}

CallCosts costs_of(const CostRuns& runs, CalibratedTransport transport) {
  const bool apart = transport == CalibratedTransport::tcp;
  CallCosts costs;
  const Line asked = line_of(runs.exists_one, runs.exists_many, &WorkloadRun::master_cpu);
  const Line looked = line_of(runs.get_one, runs.get_many, &WorkloadRun::master_cpu);
  const Line put = line_of(runs.put_one, runs.put_many, &WorkloadRun::master_cpu);
  costs.request = exactly(asked.call);
  costs.existence = exactly(asked.item);
  costs.lookup = exactly(looked.item);
  costs.put_start = costs.put_end = exactly(put.item / 2);

  // Both ends' time for a byte. A thread is as fast as they are in the middle.
  const auto both = [](const WorkloadRun& run) {
    return for_each_byte(run, run.node_cpu) + for_each_byte(run, run.client_cpu);
  };
  const double byte = both(runs.get_large);
  constexpr double mib = 1 << 20;
  costs.thread_rate = exactly(std::max(1.0, 2e9 / byte));
  costs.fill_mib = exactly(mib * (both(runs.put_large) - byte));
  constexpr double cold_share = 1 - 1.0 / CostRuns::too_many;
  costs.cold_mib = exactly(mib * (both(runs.get_cold) - byte) / cold_share);
  const double bytes = byte / 2 * static_cast<double>(CostRuns::small.value);

  const auto step = [&](Duration WorkloadRun::* used, double ends) {
    const Line get = line_of(runs.get_one, runs.get_many, used);
    const Line put_line = line_of(runs.put_one, runs.put_many, used);
    return std::pair<Line, Line>(
        {.call = get.call, .item = std::max(0.0, get.item - ends * bytes)},
        {.call = put_line.call, .item = std::max(0.0, put_line.item - ends * bytes)});
  };
  if (apart) {
    const auto [read, fill] = step(&WorkloadRun::node_cpu, 1);
    costs.node_request = exactly((read.call + fill.call) / 2);
    costs.node_read = exactly(read.item);
    costs.node_fill = exactly(fill.item);
  }
  const auto [get, store] = step(&WorkloadRun::client_cpu, apart ? 1 : 2);
  // A get names its items to the master once, a put twice.
  const double item = line_of(runs.exists_one, runs.exists_many, &WorkloadRun::client_cpu).item;
  costs.client_item = exactly(item);
  costs.client_get = exactly(get.item - item);
  costs.client_put = exactly(store.item - 2 * item);
  // A get calls the master once, a put twice.
  costs.client_request = exactly((get.call + store.call) / 3);

  const WorkloadRun& one = runs.exists_one;
  const double latency = static_cast<double>(one.p50.count()) -
                         for_each_call(one, one.client_cpu + one.master_cpu, CostRuns::small);
  // A question goes from thread to thread, to the master, and back: four wakeups.
  costs.hand_over = exactly(apart ? latency / 2 : latency);
  costs.message = exactly(apart ? latency / 4 : 0);
  return costs;
}

CallCosts middle_of(const std::vector<CallCosts>& all) {
  CallCosts middle;
  for (const auto& [name, member] : cost_names) {
    std::vector<std::uint64_t> values;
    for (const CallCosts& each : all) values.push_back((each.*member).value);
    middle.*member = figure_of(std::move(values));
  }
  return middle;
}

}  // namespace larder::real
