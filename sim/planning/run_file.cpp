#include "sim/planning/run_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

#include "core/base/printable.h"
#include "proto/calibration/calibration_files.h"
#include "proto/hardware/hardware_file.h"
#include "proto/hardware/json_object.h"
#include "sim/planning/parameters.h"
#include "sim/planning/run_tables.h"
#include "sim/serving/models/model_file.h"
#include "workloads/trace.h"

namespace larder::sim {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::string_view format_name = "larder-run";
constexpr std::uint64_t format_version = 1;
constexpr std::size_t busiest_links = 16;
// Parameters that files of version 1 may be without: then they have their defaults.
constexpr std::array<std::string_view, 2> added_later{"costs", "costs-at"};

ordered_json maybe(std::optional<double> value) {
  return value ? ordered_json(*value) : ordered_json();
}

ordered_json setting_json(const Setting& setting) {
  ordered_json object;
  for (const Parameter& parameter : parameters()) {
    const std::string text = parameter.get(setting);
    if (parameter.kind == Parameter::Kind::number) {
      object[std::string(parameter.name)] = ordered_json::parse(text);
    } else {
      object[std::string(parameter.name)] = text;
    }
  }
  return object;
}

ordered_json sizes_json(const Sizes& sizes) {
  ordered_json objects = ordered_json::array();
  for (const Bytes object : sizes.objects) objects.push_back(object.value);
  return {
      {"block_tokens", sizes.block_tokens},        {"page_tokens", sizes.page_tokens},
      {"page_bytes", sizes.page_bytes.value},      {"object_bytes", std::move(objects)},
      {"pool_bytes", sizes.pool_bytes.value},      {"pool_pages", sizes.pool_pages},
      {"gpu_pages_of_an_engine", sizes.gpu_pages}, {"host_pages_of_an_engine", sizes.host_pages}};
}

ordered_json requests_json(const Run& run) {
  ordered_json object{{"arrived", run.totals.arrived}};
  for (std::size_t i = 0; i < outcomes; ++i) {
    std::string name(outcome_name(static_cast<Outcome>(i)));
    std::ranges::replace(name, '-', '_');
    object[name] = run.totals.ended[i];
  }
  object["warmup"] = run.setting.warmup_requests;
  return object;
}

ordered_json pages_json(const ServingTotals& totals) {
  ordered_json misses;
  for (std::size_t i = 0; i < miss_reasons; ++i) {
    misses[std::string(miss_reason_name(static_cast<MissReason>(i)))] = totals.misses[i];
  }
  return {{"asked", totals.blocks},
          {"hits", totals.hits()},
          {"gpu_hits", totals.gpu_hits},
          {"host_hits", totals.host_hits},
          {"pool_hits", totals.pool_hits},
          {"missed", totals.blocks - totals.hits()},
          {"hit_ratio", maybe(totals.hit_ratio())},
          {"misses_by_reason", std::move(misses)}};
}

ordered_json ttft_json(const Run& run) {
  ordered_json buckets = ordered_json::array();
  for (const Histogram::Entry& entry : run.ttft.entries()) {
    const auto [from, until] = Histogram::range(entry.bucket);
    buckets.push_back({seconds_of(from), seconds_of(until), entry.count});
  }
  return {{"count", run.ttft.count()},
          {"mean_s", maybe(run.ttft_mean_s())},
          {"p50_s", maybe(run.ttft_s(0.5))},
          {"p90_s", maybe(run.ttft_s(0.9))},
          {"p99_s", maybe(run.ttft_s(0.99))},
          {"longest_s", maybe(run.ttft_s(1))},
          {"histogram_from_s_until_s_count", std::move(buckets)}};
}

ordered_json saved_json(const std::optional<SavedTime>& saved) {
  if (!saved) return {};
  return {{"by_gpu_cache", seconds_of(saved->gpu)},
          {"by_host_cache", seconds_of(saved->host)},
          {"by_pool", seconds_of(saved->pool)},
          {"sum", seconds_of(saved->gpu + saved->host + saved->pool)}};
}

ordered_json pressure_json(const Pressure& pressure) {
  return {{"overloaded", pressure.overloaded()},
          {"load", pressure.load},
          {"arrivals_per_s", pressure.arrivals_per_second},
          {"ended_per_s", pressure.ended_per_second},
          {"queue_growth_per_s", pressure.queue_growth_per_second},
          {"waiting_most", pressure.waiting_most},
          {"waiting_at_last_arrival", pressure.waiting_at_last_arrival}};
}

ordered_json counts_json(const PageCounts& counts) {
  ordered_json missed;
  for (std::size_t i = 0; i < miss_reasons; ++i) {
    missed[std::string(miss_reason_name(static_cast<MissReason>(i)))] = counts.missed[i];
  }
  return {{"asked", counts.asked}, {"came", counts.came}, {"missed_by_reason", std::move(missed)}};
}

ordered_json pool_json(const PoolGauges& pool) {
  return {{"used_bytes", pool.used.value},
          {"objects", pool.objects},
          {"evicted_objects", pool.evicted_objects},
          {"evicted_bytes", pool.evicted_bytes.value},
          {"read_bytes", pool.bytes_read.value},
          {"put_bytes", pool.bytes_put.value},
          {"lookups", counts_json(pool.lookups)},
          {"reads", counts_json(pool.reads)},
          {"puts",
           {{"asked", pool.puts.asked},
            {"stored", pool.puts.stored},
            {"there_already", pool.puts.there},
            {"refused", pool.puts.refused},
            {"fragmented", pool.puts.fragmented},
            {"given_up", pool.puts.given_up}}}};
}

ordered_json curve_json(const std::optional<PoolCurve>& curve) {
  if (!curve) return {};
  const auto number = [](std::optional<std::uint64_t> value) {
    return value ? ordered_json(*value) : ordered_json();
  };
  ordered_json pages = ordered_json::array();
  ordered_json bytes = ordered_json::array();
  ordered_json lru = ordered_json::array();
  ordered_json belady = ordered_json::array();
  for (const PoolCurve::Point& point : curve->points) {
    pages.push_back(point.pages);
    bytes.push_back((curve->page_room * point.pages).value);
    lru.push_back(point.lru_found);
    belady.push_back(number(point.belady_found));
  }
  return {{"asked", curve->asked},
          {"found", curve->found},
          {"fetched", curve->fetched},
          {"lru_found", curve->lru_found},
          {"belady_found", number(curve->belady_found)},
          {"infinite_found", curve->infinite_found},
          {"pool_pages", number(curve->pool_pages)},
          {"page_room_bytes", curve->page_room.value},
          {"different_pages", curve->different_pages},
          {"points",
           {{"pages", std::move(pages)},
            {"bytes", std::move(bytes)},
            {"lru_found", std::move(lru)},
            {"belady_found", std::move(belady)}}}};
}

ordered_json master_json(const Run& run) {
  const double time = seconds_of(run.time);
  const double busy = seconds_of(run.pool.master_busy);
  return {{"requests", run.pool.master_requests},
          {"items", run.pool.master_items},
          {"busy_s", busy},
          {"busy_share", time > 0 ? ordered_json(busy / time) : ordered_json()},
          {"queue_longest", run.pool.master_queue_longest}};
}

ordered_json engines_json(const Run& run) {
  ordered_json list = ordered_json::array();
  for (std::size_t i = 0; i < run.engines.size(); ++i) {
    const Placement::Engine& place = run.placement.engines[i];
    ordered_json gpus = ordered_json::array();
    for (const PartId gpu : place.gpus) gpus.push_back(run.topology.name(gpu));
    list.push_back({{"host", place.host},
                    {"gpus", std::move(gpus)},
                    {"requests", run.engines[i].requests},
                    {"prompts_busy_s", seconds_of(run.engines[i].busy.prompts)},
                    {"decoding_busy_s", seconds_of(run.engines[i].busy.decoding)}});
  }
  return list;
}

ordered_json nodes_json(const Run& run) {
  ordered_json list = ordered_json::array();
  for (const Placement::Node& node : run.placement.nodes) {
    list.push_back({{"host", node.host},
                    {"memory", run.topology.name(node.memory)},
                    {"bytes", (run.sizes.pool_bytes / run.placement.nodes.size()).value}});
  }
  return list;
}

ordered_json links_json(const Run& run) {
  std::vector<std::uint32_t> edges(run.links.edges());
  std::iota(edges.begin(), edges.end(), 0u);
  std::erase_if(edges, [&](std::uint32_t edge) { return run.links.moved({edge}) == Bytes{}; });
  std::ranges::sort(edges, {},
                    [&](std::uint32_t edge) { return std::pair(-run.links.peak({edge}), edge); });
  if (edges.size() > busiest_links) edges.resize(busiest_links);
  ordered_json list = ordered_json::array();
  for (const std::uint32_t edge : edges) {
    list.push_back({{"edge", edge},
                    {"link", run.topology.name(EdgeId{edge})},
                    {"bytes", run.links.moved({edge}).value},
                    {"bytes_per_s", run.topology.per_second(EdgeId{edge}).value},
                    {"share", run.links.share({edge})},
                    {"peak_share", run.links.peak({edge})}});
  }
  return list;
}

ordered_json faults_json(const std::vector<PlannedFault>& faults) {
  ordered_json list = ordered_json::array();
  for (const PlannedFault& fault : faults) {
    const bool for_ever = fault.lasts == Duration::max();
    list.push_back(
        {{"fault", fault_text(fault)},
         {"begin_s", seconds_of(fault.at)},
         {"end_s", for_ever ? ordered_json() : ordered_json(seconds_of(fault.at + fault.lasts))}});
  }
  return list;
}

ordered_json intervals_json(const Run& run) {
  ordered_json object;
  for (const TableColumn& column : timeline_table(run)) {
    ordered_json cells = ordered_json::array();
    for (const Cell& cell : column.cells) {
      std::visit(
          [&](const auto& value) {
            if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>) {
              cells.push_back(nullptr);
            } else {
              cells.push_back(value);
            }
          },
          cell);
    }
    object[column.name] = std::move(cells);
  }
  return object;
}

// A file that stands inside of this one; so do the places in its errors.
template <class Value>
Result<Value> read_inside(const JsonObject& file, std::string_view key,
                          Result<Value> (*read)(std::string_view)) {
  Result<Value> value = read(file.at(key).dump());
  if (value) return value;
  const std::string& detail = value.error().facts().detail;
  return failed(ErrorCode::bad_file,
                file.place(key) + (detail.starts_with('/') ? "" : ": ") + detail);
}

Result<Setting> read_setting(const JsonObject& file) {
  JsonObject::Keys names;
  for (const Parameter& parameter : parameters()) {
    const bool later = std::ranges::find(added_later, parameter.name) != added_later.end();
    (later ? names.allowed : names.needed).push_back(parameter.name);
  }
  LARDER_TRY(const JsonObject object, JsonObject::make(file.at("setting"), "/setting", names));
  Setting setting;
  for (const Parameter& parameter : parameters()) {
    if (!object.has(parameter.name)) continue;
    const json& value = object.at(parameter.name);
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    const Status set = set_parameter(setting, parameter.name, text);
    if (!set) return wrong_json(object.place(parameter.name), set.error().facts().detail);
  }
  LARDER_TRY(setting.hardware, read_inside(file, "hardware", read_hardware));
  LARDER_TRY(setting.model_numbers, read_inside(file, "model", read_model));
  if (file.has("calibration") && !file.at("calibration").is_null()) {
    LARDER_TRY(setting.calibrated, read_inside(file, "calibration", read_costs));
  }
  return setting;
}

Result<TraceName> read_trace_name(const JsonObject& file) {
  LARDER_TRY(const JsonObject object,
             JsonObject::make(file.at("trace"), "/trace",
                              {.needed = {"paths", "format", "block_tokens"}, .allowed = {}}));
  TraceName trace;
  LARDER_CHECK(object.each("paths", [&](const json& path, const std::string& at) -> Status {
    if (!path.is_string()) return wrong_json(at, "wants a path");
    trace.paths.push_back(path.get<std::string>());
    return {};
  }));
  LARDER_TRY(trace.format, object.text("format"));
  LARDER_CHECK(check_trace_format(object.place("format"), trace.format));
  LARDER_CHECK(object.number("block_tokens", trace.block_tokens));
  return trace;
}

}  // namespace

Status check_trace_format(const std::string& place, const std::string& format) {
  if (format.empty() || workloads::format_named(format)) return {};
  return wrong_json(place, in_quotes(format) + " is no format of traces: mooncake or agentic");
}

std::string run_json(const Run& run, const TraceName& trace, const Spread& spread) {
  const ordered_json object{
      {"format", format_name},
      {"version", format_version},
      {"trace",
       {{"paths", trace.paths}, {"format", trace.format}, {"block_tokens", trace.block_tokens}}},
      {"setting", setting_json(run.setting)},
      {"sizes", sizes_json(run.sizes)},
      {"time_s", seconds_of(run.time)},
      {"requests", requests_json(run)},
      {"pages", pages_json(run.totals)},
      {"tokens", {{"input", run.totals.input_tokens}, {"computed", run.totals.computed_tokens}}},
      {"ttft", ttft_json(run)},
      {"saved_gpu_s", saved_json(run.saved)},
      {"pressure", pressure_json(run.pressure)},
      {"spread", spread.json()},
      {"pool", pool_json(run.pool)},
      {"pool_curve", curve_json(run.curve)},
      {"master", master_json(run)},
      {"engines", engines_json(run)},
      {"nodes", nodes_json(run)},
      {"busiest_links", links_json(run)},
      {"faults", faults_json(run.setting.faults)},
      {"notes", run.notes},
      {"interval_s", seconds_of(run.interval)},
      {"intervals", intervals_json(run)},
      {"hardware", ordered_json::parse(write_hardware(run.setting.hardware))},
      {"model", ordered_json::parse(write_model(run.setting.model_numbers))},
      {"calibration", run.setting.calibrated
                          ? ordered_json::parse(write_costs(*run.setting.calibrated))
                          : ordered_json()},
      {"state_hash", fmt::format("{:016x}", run.state_hash)}};
  return object.dump(1) + "\n";
}

Result<RunSummary> read_run(std::string_view text) {
  LARDER_TRY(const json value, parse_json(text));
  if (!value.is_object() || value.value("format", json()) != format_name) {
    return wrong_json("/format", "wants \"larder-run\", as larder-sim replay --out writes it");
  }
  if (value.value("version", json()) != format_version) {
    return wrong_json("/version", "this program reads version " + std::to_string(format_version));
  }
  JsonObject::Keys keys{
      .needed = {"setting", "trace", "hardware", "model", "requests", "pages", "state_hash"},
      .allowed = {}};
  for (const auto& [key, of] : value.items()) keys.allowed.push_back(key);
  LARDER_TRY(const JsonObject file, JsonObject::make(value, "", keys));
  RunSummary summary;
  LARDER_TRY(summary.setting, read_setting(file));
  LARDER_TRY(summary.trace, read_trace_name(file));
  JsonObject::Keys any;
  for (const auto& [key, of] : value["requests"].items()) any.allowed.push_back(key);
  LARDER_TRY(const JsonObject requests, JsonObject::make(value["requests"], "/requests", any));
  LARDER_CHECK(requests.number("arrived", summary.requests));
  any.allowed.clear();
  for (const auto& [key, of] : value["pages"].items()) any.allowed.push_back(key);
  LARDER_TRY(const JsonObject pages, JsonObject::make(value["pages"], "/pages", any));
  LARDER_CHECK(pages.number("asked", summary.pages));
  LARDER_CHECK(pages.number("hits", summary.hits));
  if (summary.hits > summary.pages) {
    return wrong_json("/pages/hits", std::to_string(summary.hits) + " of " +
                                         std::to_string(summary.pages) + " pages");
  }
  LARDER_TRY(const std::string hash, file.text("state_hash"));
  const auto [end, error] =
      std::from_chars(hash.data(), hash.data() + hash.size(), summary.state_hash, 16);
  if (error != std::errc() || end != hash.data() + hash.size()) {
    return wrong_json("/state_hash", "wants 16 digits of base 16");
  }
  return summary;
}

}  // namespace larder::sim
