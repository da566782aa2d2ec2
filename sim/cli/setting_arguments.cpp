#include "sim/cli/setting_arguments.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "sim/cli/costs_argument.h"
#include "sim/cli/hardware_argument.h"
#include "sim/cli/model_argument.h"
#include "sim/planning/parameters.h"
#include "terminal/command.h"

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

void add_setting_arguments(terminal::Command command, Setting& setting) {
  for (const Parameter& parameter : parameters()) {
    const std::string flag = "--" + std::string(parameter.name);
    const std::string help(parameter.help);
    const terminal::Option option =
        parameter.name == "fail"
            // One that stands several times is one list.
            ? command.add_parsed_list(
                  flag,
                  [&parameter, &setting](const std::vector<std::string>& texts) {
                    return set_parameter(setting, parameter,
                                         fmt::format("{}", fmt::join(texts, ",")));
                  },
                  help)
            : command.add_parsed(
                  flag,
                  [&parameter, &setting](const std::string& text) {
                    return set_parameter(setting, parameter, text);
                  },
                  help);
    option.type_name(type_name(parameter.kind))
        .group(std::string(parameter.group))
        .default_str(parameter.get(setting));
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
