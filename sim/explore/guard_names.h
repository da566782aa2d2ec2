#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/protocol/limits.h"

namespace larder::sim {

// The guards (core/protocol/limits.h) as people name them, and what each forbids.
struct GuardName {
  std::string_view name;
  bool Guards::* member;
  std::string_view forbids;
};
std::span<const GuardName> guard_names();
// Null: there is none of this name.
bool Guards::* guard_named(std::string_view name);
std::string guard_list();  // all names, with commas between
// Those that are off.
std::string guards_off(const Guards& guards);
// The same as a command line says it: " --without state --without footer".
std::string without_flags(const Guards& guards);

}  // namespace larder::sim
