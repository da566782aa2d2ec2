#include "sim/cli/setting_arguments.h"

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "sim/cli/costs_argument.h"
#include "sim/cli/hardware_argument.h"
#include "sim/cli/model_argument.h"
#include "sim/planning/parameters.h"

namespace larder::sim {
namespace {

std::string type_name(Parameter::Kind kind) {
  switch (kind) {
    case Parameter::Kind::number:
      return "NUMBER";
    case Parameter::Kind::size:
      return "SIZE";
    case Parameter::Kind::time:
      return "TIME";
    case Parameter::Kind::word:
      break;
  }
  return "NAME";
}

}  // namespace

void add_setting_arguments(CLI::App& command, Setting& setting) {
  for (const Parameter& parameter : parameters()) {
    const std::string flag = "--" + std::string(parameter.name);
    // A flag that stands several times is one list.
    command
        .add_option_function<std::vector<std::string>>(
            flag,
            [flag, &parameter, &setting](const std::vector<std::string>& texts) {
              std::string list;
              for (const std::string& text : texts) list += (list.empty() ? "" : ",") + text;
              const Status set = set_parameter(setting, parameter, list);
              if (!set) throw CLI::ValidationError(flag, set.error().facts().detail);
            },
            std::string(parameter.help))
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(parameter.name == "fail" ? CLI::MultiOptionPolicy::TakeAll
                                                       : CLI::MultiOptionPolicy::Throw)
        ->type_name(type_name(parameter.kind))
        ->group(std::string(parameter.group))
        ->default_str(parameter.get(setting));
  }
}

Status load_parts(Setting& setting) {
  LARDER_TRY(setting.hardware, load_hardware(setting.cluster));
  setting.calibrated.reset();
  const std::string costs =
      setting.costs.empty() ? calibration_of_cluster(setting.cluster).value_or("") : setting.costs;
  if (!costs.empty()) {
    LARDER_TRY(LoadedCosts loaded, load_costs(costs));
    setting.calibrated = std::move(loaded.costs);
    setting.calibrated_file = std::move(loaded.file);
    if (loaded.memory_per_second) set_memory_rate(setting.hardware, *loaded.memory_per_second);
  }
  LARDER_TRY(setting.model_numbers, load_model(setting.model));
  return {};
}

}  // namespace larder::sim
