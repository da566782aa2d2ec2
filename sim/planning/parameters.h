#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "sim/planning/setting.h"

namespace larder::sim {

// One member of a setting by its name, which is the same as a flag of a command, in a sweep's file
// and in run.json.
struct Parameter {
  enum class Kind : std::uint8_t { number, size, time, word };
  std::string_view name;
  Kind kind;
  std::string_view help;
  // INVALID_PARAMS with the text and what can be written; whether it fits the others is check()'s.
  Status (*set)(Setting& setting, std::string_view text);
  // What set() reads back to the same.
  std::string (*get)(const Setting& setting);
  std::string_view group{};  // "Machines", "Engines" ...: where it stands in a help
};

// All, in the order in which people are shown them.
std::span<const Parameter> parameters();
// Errors: invalid_params, which lists those that there are.
Result<const Parameter*> parameter_named(std::string_view name);
// The error tells a word that is none of a parameter's with those that there are.
Status set_parameter(Setting& setting, const Parameter& parameter, std::string_view text);
// Likewise; "NAME: what is wrong" as the error.
Status set_parameter(Setting& setting, std::string_view name, std::string_view text);

}  // namespace larder::sim
