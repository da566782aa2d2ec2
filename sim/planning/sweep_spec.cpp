#include "sim/planning/sweep_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "core/base/printable.h"
#include "core/base/size_text.h"
#include "proto/hardware/json_object.h"
#include "sim/planning/parameters.h"
#include "sim/planning/run_tables.h"

#pragma STDC FP_CONTRACT OFF

namespace larder::sim {
namespace {

using nlohmann::json;

constexpr std::size_t values_max = 100'000;

// A number or a word, as a person would write it for a flag.
Result<std::string> text_of(const json& value, const std::string& place) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return value.dump();
  if (value.is_boolean()) return std::string(value.get<bool>() ? "on" : "off");
  return wrong_json(place, "wants a number or a text, as for the flag of that name");
}

Status try_value(const std::string& place, std::string_view parameter, const std::string& text) {
  Setting setting;
  const Status set = set_parameter(setting, parameter, text);
  return set ? Status() : wrong_json(place, set.error().facts().detail);
}

// Numbers between which a range steps: of sizes, their bytes.
std::optional<double> number_in(std::string_view text, bool size) {
  if (size) {
    const auto bytes = parse_size(text);
    if (!bytes) return std::nullopt;
    return static_cast<double>(bytes->value);
  }
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

std::string text_in(double number, bool size) {
  if (size) return exact_size_text(Bytes{static_cast<std::uint64_t>(std::llround(number))});
  return fmt::format("{}", number);
}

Result<std::vector<std::string>> read_range(const std::string& parameter, const json& value,
                                            const std::string& place) {
  LARDER_TRY(
      const JsonObject object,
      JsonObject::make(value, place, {.needed = {"from", "to"}, .allowed = {"step", "factor"}}));
  if (object.has("step") == object.has("factor")) {
    return wrong_json(place, "wants a step or a factor, one of the two");
  }
  const char* const by = object.has("step") ? "step" : "factor";
  LARDER_TRY(const std::string from, text_of(object.at("from"), object.place("from")));
  LARDER_TRY(const std::string to, text_of(object.at("to"), object.place("to")));
  LARDER_TRY(const std::string step, text_of(object.at(by), object.place(by)));
  auto values = expand_range({.parameter = parameter, .values = {from, to}},
                             object.has("step") ? std::string_view(step) : std::string_view(),
                             object.has("factor") ? std::string_view(step) : std::string_view());
  if (values) return values;
  return wrong_json(place, values.error().facts().detail);
}

Result<Variation> read_variation(const std::string& parameter, const json& value,
                                 const std::string& place) {
  Variation variation{.parameter = parameter, .values = {}};
  if (value.is_object()) {
    LARDER_TRY(variation.values, read_range(parameter, value, place));
  } else if (value.is_array() && !value.empty()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      LARDER_TRY(std::string text, text_of(value[i], place + "/" + std::to_string(i)));
      variation.values.push_back(std::move(text));
    }
  } else {
    return wrong_json(place, "wants a list of values, or a range {from, to, step or factor}");
  }
  for (std::size_t i = 0; i < variation.values.size(); ++i) {
    LARDER_CHECK(try_value(place + "/" + std::to_string(i), parameter, variation.values[i]));
  }
  return variation;
}

Status read_trace(const JsonObject& file, TraceName& trace) {
  const json& value = file.at("trace");
  if (value.is_string()) {
    trace.paths.push_back(value.get<std::string>());
  } else {
    LARDER_CHECK(file.each("trace", [&](const json& path, const std::string& at) -> Status {
      if (!path.is_string()) return wrong_json(at, "wants a path");
      trace.paths.push_back(path.get<std::string>());
      return {};
    }));
  }
  if (trace.paths.empty()) return wrong_json(file.place("trace"), "wants at least one path");
  if (file.has("format")) {
    LARDER_TRY(trace.format, file.text("format"));
    LARDER_CHECK(check_trace_format(file.place("format"), trace.format));
  }
  return file.number("block-size", trace.block_tokens);
}

Status read_seeds(const JsonObject& file, std::vector<std::uint64_t>& seeds) {
  if (!file.has("seeds")) {
    seeds = {1};
    return {};
  }
  const json& value = file.at("seeds");
  if (value.is_number_unsigned()) {
    const std::uint64_t count = value.get<std::uint64_t>();
    if (count == 0 || count > values_max) {
      return wrong_json(file.place("seeds"), "wants 1 to 100000 seeds");
    }
    for (std::uint64_t seed = 1; seed <= count; ++seed) seeds.push_back(seed);
    return {};
  }
  LARDER_CHECK(file.each("seeds", [&](const json& seed, const std::string& at) -> Status {
    if (!seed.is_number_unsigned()) return wrong_json(at, "wants a whole number");
    seeds.push_back(seed.get<std::uint64_t>());
    return {};
  }));
  return seeds.empty() ? Status(wrong_json(file.place("seeds"), "wants at least one")) : Status();
}

std::string cell(std::optional<double> value) { return value ? fmt::format("{}", *value) : ""; }

}  // namespace

Result<std::vector<std::string>> expand_range(const Variation& from_to, std::string_view step,
                                              std::string_view factor) {
  LARDER_TRY(const Parameter* const parameter, parameter_named(from_to.parameter));
  const bool size = parameter->kind == Parameter::Kind::size;
  const auto wrong = [&](std::string what) {
    return failed(ErrorCode::invalid_params, from_to.parameter + ": " + std::move(what));
  };
  if (!size && parameter->kind != Parameter::Kind::number) {
    return wrong("a range is of numbers or sizes; give a list");
  }
  const auto from = number_in(from_to.values.at(0), size);
  const auto to = number_in(from_to.values.at(1), size);
  const auto by = step.empty() ? number_in(factor, false) : number_in(step, size);
  if (!from || !to || !by || *to < *from) return wrong("from and to are no range");
  constexpr double size_max = 1ull << 62;
  if (size && *to > size_max) return wrong("to is more than 4 EiB");
  if (step.empty() ? !(*by > 1 && *from > 0) : !(*by > 0)) {
    return wrong("a step is above 0; a factor is above 1, and from above 0");
  }
  std::vector<std::string> values;
  // Without adding up what rounding leaves; the end counts as reached within a part in 10^9.
  for (std::size_t i = 0;; ++i) {
    const auto times = static_cast<double>(i);
    const double value = step.empty() ? *from * std::pow(*by, times) : *from + times * *by;
    if (value > *to * (1 + 1e-9)) break;
    if (values.size() == values_max) return wrong("the range has more than 100000 values");
    values.push_back(text_in(value, size));
  }
  return values;
}

std::uint64_t SweepSpec::runs() const {
  std::uint64_t count = seeds.size();
  for (const Variation& variation : vary) count *= variation.values.size();
  return count;
}

std::vector<std::string> SweepSpec::values(std::uint64_t run) const {
  std::vector<std::string> values(vary.size());
  std::uint64_t rest = run / seeds.size();
  for (std::size_t i = vary.size(); i-- > 0;) {
    values[i] = vary[i].values[rest % vary[i].values.size()];
    rest /= vary[i].values.size();
  }
  return values;
}

Result<Setting> SweepSpec::setting(std::uint64_t run) const {
  Setting setting;
  for (const auto& [parameter, text] : fixed) {
    LARDER_CHECK(set_parameter(setting, parameter, text));
  }
  const std::vector<std::string> varied = values(run);
  for (std::size_t i = 0; i < vary.size(); ++i) {
    LARDER_CHECK(set_parameter(setting, vary[i].parameter, varied[i]));
  }
  setting.seed = seed(run);
  return setting;
}

Result<SweepSpec> read_sweep(std::string_view text) {
  LARDER_TRY(const json value, parse_json(text));
  LARDER_TRY(const JsonObject file,
             JsonObject::make(value, "",
                              {.needed = {"trace", "vary"},
                               .allowed = {"format", "block-size", "setting", "seeds"}}));
  SweepSpec spec;
  LARDER_CHECK(read_trace(file, spec.trace));
  LARDER_CHECK(read_seeds(file, spec.seeds));
  for (const char* key : {"setting", "vary"}) {
    if (file.has(key) && !file.at(key).is_object()) {
      return wrong_json(file.place(key), "wants an object of parameters");
    }
  }
  if (file.has("setting")) {
    for (const auto& [parameter, of] : file.at("setting").items()) {
      const std::string place = file.place("setting") + "/" + printable(parameter, 60);
      LARDER_TRY(std::string one, text_of(of, place));
      LARDER_CHECK(try_value(place, parameter, one));
      spec.fixed.emplace_back(parameter, std::move(one));
    }
  }
  for (const auto& [parameter, of] : file.at("vary").items()) {
    const std::string place = file.place("vary") + "/" + printable(parameter, 60);
    if (parameter == "seed") return wrong_json(place, "seeds stand in \"seeds\"");
    if (std::ranges::count(spec.fixed, parameter, &std::pair<std::string, std::string>::first)) {
      return wrong_json(place, "stands in \"setting\" too: it either varies or does not");
    }
    LARDER_TRY(Variation variation, read_variation(parameter, of, place));
    spec.vary.push_back(std::move(variation));
    if (spec.runs() > sweep_runs_max) return wrong_json(place, "that is more than 10000000 runs");
  }
  return spec;
}

namespace {

// Without what would be other cells or lines.
std::string text_cell(std::string text) {
  if (text.empty()) return text;
  std::ranges::replace(text, '"', '\'');
  return "\"" + printable(text, 1000) + "\"";
}

}  // namespace

std::vector<std::string> result_columns() {
  std::vector<std::string> columns{"error",     "requests",  "completed", "rejected",
                                   "failed",    "pages",     "hits",      "gpu_hits",
                                   "host_hits", "pool_hits", "hit_ratio"};
  for (std::size_t i = 0; i < miss_reasons; ++i) {
    columns.push_back("missed_" + std::string(miss_reason_name(static_cast<MissReason>(i))));
  }
  for (const char* name :
       {"input_tokens", "computed_tokens", "ttft_mean_s", "ttft_p50_s", "ttft_p90_s", "ttft_p99_s",
        "saved_gpu_s", "saved_gpu_s_by_pool", "load", "overloaded", "evicted_objects", "read_bytes",
        "put_bytes", "master_busy_share", "busiest_link_peak_share", "time_s", "state_hash",
        "notes"}) {
    columns.emplace_back(name);
  }
  return columns;
}

std::vector<std::string> result_cells(const Run& run) {
  const ServingTotals& totals = run.totals;
  std::vector<std::string> cells{""};
  const auto count = [&](std::uint64_t number) { cells.push_back(std::to_string(number)); };
  for (const std::uint64_t number :
       {totals.arrived, totals.completed(), totals.rejected(), totals.failed(), totals.blocks,
        totals.hits(), totals.gpu_hits, totals.host_hits, totals.pool_hits}) {
    count(number);
  }
  cells.push_back(cell(totals.hit_ratio()));
  for (const std::uint64_t missed : totals.misses) count(missed);
  count(totals.input_tokens);
  count(totals.computed_tokens);
  for (const auto& time : {run.ttft_mean_s(), run.ttft_s(0.5), run.ttft_s(0.9), run.ttft_s(0.99)}) {
    cells.push_back(cell(time));
  }
  std::optional<double> saved;
  std::optional<double> by_pool;
  if (run.saved) {
    saved = seconds_of(run.saved->gpu + run.saved->host + run.saved->pool);
    by_pool = seconds_of(run.saved->pool);
  }
  cells.push_back(cell(saved));
  cells.push_back(cell(by_pool));
  cells.push_back(cell(run.pressure.load));
  cells.emplace_back(run.pressure.overloaded() ? "1" : "0");
  for (const std::uint64_t number :
       {run.pool.evicted_objects, run.pool.bytes_read.value, run.pool.bytes_put.value}) {
    count(number);
  }
  const double time = seconds_of(run.time);
  cells.push_back(
      cell(time > 0 ? std::optional(seconds_of(run.pool.master_busy) / time) : std::nullopt));
  std::optional<double> busiest;
  for (std::uint32_t edge = 0; edge < run.links.edges(); ++edge) {
    busiest = std::max(busiest.value_or(0), run.links.peak({edge}));
  }
  cells.push_back(cell(busiest));
  cells.push_back(cell(time));
  cells.push_back(fmt::format("{:016x}", run.state_hash));
  cells.push_back(text_cell(fmt::format("{}", fmt::join(run.notes, " "))));
  return cells;
}

std::vector<std::string> error_cells(const Error& error) {
  std::vector<std::string> cells(result_columns().size());
  cells.front() = text_cell(error.facts().detail.empty() ? error.message() : error.facts().detail);
  return cells;
}

}  // namespace larder::sim
