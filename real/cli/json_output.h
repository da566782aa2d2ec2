#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/error.h"
#include "core/base/time.h"

namespace larder::real {

using nlohmann::ordered_json;

// One line. What is no UTF-8 in a text is replaced, so that any key can be printed.
inline std::string to_line(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

inline double in_seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

inline ordered_json to_json(const Error& error) {
  return {{"code", static_cast<std::int32_t>(error.code())},
          {"name", error_name(error.code())},
          {"message", error.message()}};
}

}  // namespace larder::real
