#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/base/assert.h"
#include "sim/planning/parameters.h"
#include "sim/planning/plan.h"
#include "sim/planning/planned_fault.h"
#include "sim/planning/sweep_spec.h"
#include "tests/fuzzing/checks.h"
#include "tests/fuzzing/json_patch.h"

// What people write to say which runs they want: specs of sweeps (a file, or changes of a right
// one), values of parameters, objectives and planned faults. The first byte says which. What is
// accepted is written so that it is read as the same, and its numbers are finite.

namespace larder::sim {
namespace {

const nlohmann::ordered_json& right_spec() {
  static const nlohmann::ordered_json spec = nlohmann::ordered_json::parse(R"({
    "trace": ["trace.jsonl"], "format": "mooncake", "block-size": 512,
    "setting": {"model": "llama-3.1-70b", "engines": 8, "fabric": false},
    "vary": {"memory-per-node": {"from": "64GiB", "to": "512GiB", "factor": 2},
             "policy": ["lru", "leaf-first"], "speed": {"from": 1, "to": 3, "step": 0.5}},
    "seeds": [1, 7]})");
  return spec;
}

void check_setting(const Setting& setting) {
  Setting again;
  for (const Parameter& parameter : parameters()) {
    const std::string text = parameter.get(setting);
    const Status set = parameter.set(again, text);
    LARDER_ASSERT(set.has_value(), "what was set can be set again");
    LARDER_ASSERT(parameter.get(again) == text, "and is the same");
  }
  const Status checked = setting.check();
  if (!checked) check_refusal(checked.error(), ErrorCode::invalid_params);
}

void check_spec(std::string_view text) {
  const auto spec = read_sweep(text);
  if (!spec) return check_refusal(spec.error(), ErrorCode::bad_file);
  const std::uint64_t runs = spec->runs();
  LARDER_ASSERT(runs >= 1 && runs <= sweep_runs_max);
  for (const std::uint64_t run : {std::uint64_t{0}, runs / 2, runs - 1}) {
    const auto setting = spec->setting(run);
    LARDER_ASSERT(setting.has_value(), "each value was tried");
    LARDER_ASSERT(setting->seed == spec->seed(run));
    const auto values = spec->values(run);
    for (std::size_t i = 0; i < values.size(); ++i) {
      Setting one;
      LARDER_ASSERT(set_parameter(one, spec->vary[i].parameter, values[i]).has_value());
      check_line(values[i]);
    }
    check_setting(*setting);
  }
}

void check_parameter(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return;
  Setting setting;
  const Status set = set_parameter(setting, text.substr(0, space), text.substr(space + 1));
  if (!set) return check_refusal(set.error(), ErrorCode::invalid_params);
  check_setting(setting);
}

void check_slo(std::string_view text) {
  const auto slo = parse_slo(text);
  if (!slo) return check_refusal(slo.error(), ErrorCode::invalid_params);
  LARDER_ASSERT(std::isfinite(slo->bound) && slo->bound >= 0);
  LARDER_ASSERT(slo->text == text && slo->text.starts_with(metric_name(slo->metric)));
  check_line(slo->text);
}

void check_faults(std::string_view text) {
  const auto faults = parse_faults(text);
  if (!faults) return check_refusal(faults.error(), ErrorCode::invalid_params);
  const std::string written = faults_text(*faults);
  const auto again = parse_faults(written);
  LARDER_ASSERT(again.has_value() && *again == *faults, "what is written means the same");
  for (const PlannedFault& fault : *faults) {
    check_line(fault_text(fault));
    LARDER_ASSERT(fault.at >= Duration(0) && fault.lasts > Duration(0));
  }
}

void check(char kind, std::string_view rest) {
  switch (kind) {
    case 'f':
      return check_spec(rest);
    case 'p':
      return check_parameter(rest);
    case 's':
      return check_slo(rest);
    case 'a':
      return check_faults(rest);
    default:
      return check_spec(patched(right_spec(), rest));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return check_by_kind(data, size, check);
}

}  // namespace larder::sim
