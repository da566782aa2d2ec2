#include "proto/calibration/calibration_files.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "core/base/printable.h"
#include "proto/hardware/json_object.h"

namespace larder {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::uint32_t cores_max = 4'096;
constexpr std::uint32_t clients_max = 1'024;
constexpr std::uint32_t batch_max = 16'384;
constexpr std::size_t runs_max = 1'000;
constexpr Bytes value_max{std::uint64_t{1} << 40};
constexpr std::uint64_t rate_max = 1'000'000'000'000'000;  // bytes a second
constexpr std::uint64_t rate_min = 1'000'000;
constexpr std::uint64_t time_max = 1'000'000'000'000;  // nanoseconds of a step, a call or a run
constexpr std::uint64_t calls_max = 1'000'000'000'000;
constexpr std::size_t text_bytes_max = 200;
constexpr std::size_t workloads_max = 10'000;
constexpr std::size_t not_measured_max = 100;

// ---- reading ------------------------------------------------------------------------------------

Status in_range(const JsonObject& object, std::string_view key, std::uint64_t value,
                std::pair<std::uint64_t, std::uint64_t> range) {
  if (value >= range.first && value <= range.second) return {};
  return wrong_json(object.place(key), std::to_string(value) + " is not from " +
                                           std::to_string(range.first) + " to " +
                                           std::to_string(range.second));
}

// A text that people are shown.
Status read_text(const JsonObject& object, std::string_view key, std::string& text) {
  LARDER_TRY(text, object.text(key));
  if (text.size() <= text_bytes_max && printable(text) == text) return {};
  return wrong_json(object.place(key), "wants at most " + std::to_string(text_bytes_max) +
                                           " bytes of text without control characters, not " +
                                           in_quotes(text));
}

// One of a table of names.
template <class Value, std::size_t count>
Status read_name(const JsonObject& object, std::string_view key,
                 const std::array<std::pair<std::string_view, Value>, count>& names, Value& value) {
  LARDER_TRY(const std::string text, object.text(key));
  std::string known;
  for (const auto& [name, each] : names) {
    if (name == text) {
      value = each;
      return {};
    }
    known.append(known.empty() ? "" : ", ").append(name);
  }
  return wrong_json(object.place(key), in_quotes(text) + " is none of " + known);
}

Status read_machine(const json& value, const std::string& place, CalibratedMachine& machine) {
  LARDER_TRY(const JsonObject object,
             JsonObject::make(value, place,
                              {.needed = {"processor", "cores", "memory_bytes", "cache_bytes",
                                          "kernel", "program", "date", "others_permille"},
                               .allowed = {}}));
  LARDER_CHECK(read_text(object, "processor", machine.processor));
  LARDER_CHECK(object.number("cores", machine.cores));
  LARDER_CHECK(in_range(object, "cores", machine.cores, {1, cores_max}));
  LARDER_CHECK(object.number("memory_bytes", machine.memory));
  LARDER_CHECK(object.number("cache_bytes", machine.cache));
  LARDER_CHECK(read_text(object, "kernel", machine.kernel));
  LARDER_CHECK(read_text(object, "program", machine.program));
  LARDER_CHECK(read_text(object, "date", machine.date));
  LARDER_CHECK(object.number("others_permille", machine.others_permille));
  return in_range(object, "others_permille", machine.others_permille, {0, 1'000});
}

Status read_not_measured(const JsonObject& file, std::vector<NotMeasured>& not_measured) {
  if (!file.has("not_measured")) return {};
  return file.each("not_measured", [&](const json& value, const std::string& place) -> Status {
    LARDER_TRY(const JsonObject object,
               JsonObject::make(value, place, {.needed = {"what", "why"}, .allowed = {}}));
    if (not_measured.size() == not_measured_max) {
      return wrong_json(place, "there are " + std::to_string(not_measured_max) + " already");
    }
    NotMeasured& each = not_measured.emplace_back();
    LARDER_CHECK(read_text(object, "what", each.what));
    return read_text(object, "why", each.why);
  });
}

Status read_figure(const json& value, const std::string& place, std::uint64_t most,
                   Figure& figure) {
  LARDER_TRY(const JsonObject object,
             JsonObject::make(value, place, {.needed = {"value", "low", "high"}, .allowed = {}}));
  LARDER_CHECK(object.number("value", figure.value));
  LARDER_CHECK(object.number("low", figure.low));
  LARDER_CHECK(object.number("high", figure.high));
  LARDER_CHECK(in_range(object, "high", figure.high, {0, most}));
  if (figure.low <= figure.value && figure.value <= figure.high) return {};
  return wrong_json(place, std::to_string(figure.value) + " does not lie between its bounds, " +
                               std::to_string(figure.low) + " and " + std::to_string(figure.high));
}

Status read_transport(const json& value, const std::string& place,
                      std::vector<TransportCosts>& transports) {
  JsonObject::Keys keys{.needed = {"transport"}, .allowed = {}};
  for (const auto& [name, member] : cost_names) keys.needed.push_back(name);
  LARDER_TRY(const JsonObject object, JsonObject::make(value, place, keys));
  TransportCosts each;
  LARDER_CHECK(read_name(object, "transport", transport_names, each.transport));
  if (std::ranges::count(transports, each.transport, &TransportCosts::transport) > 0) {
    return wrong_json(object.place("transport"), "it stands above already");
  }
  for (const auto& [name, member] : cost_names) {
    const bool rate = member == &CallCosts::thread_rate;
    LARDER_CHECK(read_figure(object.at(name), object.place(name), rate ? rate_max : time_max,
                             each.costs.*member));
  }
  if (each.costs.thread_rate.low < rate_min) {
    return wrong_json(object.place("thread_bytes_per_second"),
                      std::to_string(each.costs.thread_rate.low) + ": a thread moves at least " +
                          std::to_string(rate_min) + " bytes a second");
  }
  transports.push_back(each);
  return {};
}

Status read_workload(const JsonObject& object, Workload& workload) {
  LARDER_CHECK(read_name(object, "transport", transport_names, workload.transport));
  LARDER_CHECK(read_name(object, "operation", operation_names, workload.operation));
  LARDER_CHECK(object.number("value_bytes", workload.size));
  LARDER_CHECK(in_range(object, "value_bytes", workload.size.value, {1, value_max.value}));
  LARDER_CHECK(object.number("clients", workload.clients));
  LARDER_CHECK(in_range(object, "clients", workload.clients, {1, clients_max}));
  LARDER_CHECK(object.number("batch", workload.batch));
  return in_range(object, "batch", workload.batch, {1, batch_max});
}

Status read_run(const json& value, const std::string& place, std::vector<WorkloadRun>& runs) {
  LARDER_TRY(const JsonObject object,
             JsonObject::make(
                 value, place,
                 {.needed = {"time_ns", "moved_bytes", "calls", "p50_ns", "p99_ns", "master_cpu_ns",
                             "node_cpu_ns", "client_cpu_ns", "others_cpu_ns"},
                  .allowed = {}}));
  WorkloadRun run;
  LARDER_CHECK(object.number("time_ns", run.time));
  LARDER_CHECK(object.number("moved_bytes", run.moved));
  LARDER_CHECK(object.number("calls", run.calls));
  LARDER_CHECK(object.number("p50_ns", run.p50));
  LARDER_CHECK(object.number("p99_ns", run.p99));
  LARDER_CHECK(object.number("master_cpu_ns", run.master_cpu));
  LARDER_CHECK(object.number("node_cpu_ns", run.node_cpu));
  LARDER_CHECK(object.number("client_cpu_ns", run.client_cpu));
  LARDER_CHECK(object.number("others_cpu_ns", run.others_cpu));
  LARDER_CHECK(
      in_range(object, "time_ns", static_cast<std::uint64_t>(run.time.count()), {1, time_max}));
  LARDER_CHECK(in_range(object, "moved_bytes", run.moved.value, {1, std::uint64_t{1} << 60}));
  LARDER_CHECK(in_range(object, "calls", run.calls, {1, calls_max}));
  LARDER_CHECK(
      in_range(object, "p50_ns", static_cast<std::uint64_t>(run.p50.count()), {1, time_max}));
  LARDER_CHECK(
      in_range(object, "p99_ns", static_cast<std::uint64_t>(run.p99.count()), {1, time_max}));
  if (run.p99 < run.p50) {
    return wrong_json(object.place("p99_ns"), std::to_string(run.p99.count()) + " is below p50_ns");
  }
  runs.push_back(run);
  return {};
}

Status read_measured(const json& value, const std::string& place,
                     std::vector<MeasuredWorkload>& workloads) {
  LARDER_TRY(const JsonObject object,
             JsonObject::make(
                 value, place,
                 {.needed = {"transport", "operation", "value_bytes", "clients", "batch", "runs"},
                  .allowed = {}}));
  MeasuredWorkload each;
  LARDER_CHECK(read_workload(object, each.workload));
  if (std::ranges::count(workloads, each.workload, &MeasuredWorkload::workload) > 0) {
    return wrong_json(place, in_quotes(to_string(each.workload)) + " stands above already");
  }
  LARDER_CHECK(object.each("runs", [&](const json& run, const std::string& at) {
    return read_run(run, at, each.runs);
  }));
  if (each.runs.empty() || each.runs.size() > runs_max) {
    return wrong_json(
        object.place("runs"),
        std::to_string(each.runs.size()) + " runs: there are 1 to " + std::to_string(runs_max));
  }
  if (!workloads.empty() && workloads.front().runs.size() != each.runs.size()) {
    return wrong_json(object.place("runs"), std::to_string(each.runs.size()) +
                                                " runs, but the first workload has " +
                                                std::to_string(workloads.front().runs.size()));
  }
  if (workloads.size() == workloads_max) {
    return wrong_json(place, "there are " + std::to_string(workloads_max) + " already");
  }
  workloads.push_back(std::move(each));
  return {};
}

// ---- writing ------------------------------------------------------------------------------------

template <class Value, std::size_t count>
std::string_view name_in(const std::array<std::pair<std::string_view, Value>, count>& names,
                         Value value) {
  return std::ranges::find_if(names, [&](const auto& each) { return each.second == value; })->first;
}

ordered_json machine_json(const CalibratedMachine& machine) {
  return {{"processor", machine.processor},
          {"cores", machine.cores},
          {"memory_bytes", machine.memory.value},
          {"cache_bytes", machine.cache.value},
          {"kernel", machine.kernel},
          {"program", machine.program},
          {"date", machine.date},
          {"others_permille", machine.others_permille}};
}

ordered_json not_measured_json(const std::vector<NotMeasured>& all) {
  ordered_json list = ordered_json::array();
  for (const NotMeasured& each : all) list.push_back({{"what", each.what}, {"why", each.why}});
  return list;
}

ordered_json run_json(const WorkloadRun& run) {
  return {{"time_ns", run.time.count()},
          {"moved_bytes", run.moved.value},
          {"calls", run.calls},
          {"p50_ns", run.p50.count()},
          {"p99_ns", run.p99.count()},
          {"master_cpu_ns", run.master_cpu.count()},
          {"node_cpu_ns", run.node_cpu.count()},
          {"client_cpu_ns", run.client_cpu.count()},
          {"others_cpu_ns", run.others_cpu.count()}};
}

}  // namespace

Result<CalibratedCosts> read_costs(std::string_view text) {
  LARDER_TRY(const json value, parse_json(text));
  LARDER_TRY(const JsonObject object,
             JsonObject::make(value, "",
                              {.needed = {"machine", "transports"}, .allowed = {"not_measured"}}));
  CalibratedCosts costs;
  LARDER_CHECK(read_machine(object.at("machine"), object.place("machine"), costs.machine));
  LARDER_CHECK(object.each("transports", [&](const json& each, const std::string& at) {
    return read_transport(each, at, costs.transports);
  }));
  LARDER_CHECK(read_not_measured(object, costs.not_measured));
  return costs;
}

Result<Measurements> read_measurements(std::string_view text) {
  LARDER_TRY(const json value, parse_json(text));
  LARDER_TRY(const JsonObject object,
             JsonObject::make(value, "",
                              {.needed = {"machine", "workloads"}, .allowed = {"not_measured"}}));
  Measurements measurements;
  LARDER_CHECK(read_machine(object.at("machine"), object.place("machine"), measurements.machine));
  LARDER_CHECK(object.each("workloads", [&](const json& each, const std::string& at) {
    return read_measured(each, at, measurements.workloads);
  }));
  if (measurements.workloads.empty()) return wrong_json(object.place("workloads"), "there is none");
  LARDER_CHECK(read_not_measured(object, measurements.not_measured));
  return measurements;
}

std::string write_costs(const CalibratedCosts& costs) {
  ordered_json transports = ordered_json::array();
  for (const TransportCosts& each : costs.transports) {
    ordered_json& transport = transports.emplace_back(
        ordered_json{{"transport", name_in(transport_names, each.transport)}});
    for (const auto& [name, member] : cost_names) {
      const Figure& figure = each.costs.*member;
      transport[std::string(name)] = {
          {"value", figure.value}, {"low", figure.low}, {"high", figure.high}};
    }
  }
  const ordered_json value{{"machine", machine_json(costs.machine)},
                           {"transports", std::move(transports)},
                           {"not_measured", not_measured_json(costs.not_measured)}};
  return value.dump(2) + "\n";
}

std::string write_measurements(const Measurements& measurements) {
  ordered_json workloads = ordered_json::array();
  for (const auto& [workload, runs] : measurements.workloads) {
    ordered_json list = ordered_json::array();
    for (const WorkloadRun& run : runs) list.push_back(run_json(run));
    workloads.push_back({{"transport", name_in(transport_names, workload.transport)},
                         {"operation", name_in(operation_names, workload.operation)},
                         {"value_bytes", workload.size.value},
                         {"clients", workload.clients},
                         {"batch", workload.batch},
                         {"runs", std::move(list)}});
  }
  const ordered_json value{{"machine", machine_json(measurements.machine)},
                           {"workloads", std::move(workloads)},
                           {"not_measured", not_measured_json(measurements.not_measured)}};
  return value.dump(2) + "\n";
}

}  // namespace larder
