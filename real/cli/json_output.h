#pragma once

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/error.h"
#include "core/base/percent.h"
#include "core/base/time.h"

namespace larder::real {

using nlohmann::ordered_json;

// One line. Keys and other names that may hold any bytes go in percent_escaped(); what else is no
// UTF-8, such as a file's name, is replaced.
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

// A name that may hold any bytes; null if there is none.
inline ordered_json name_or_null(const std::string& name) {
  if (name.empty()) return nullptr;
  return percent_escaped(name);
}

// Of a command that does the same with several keys: all failures but the first are said at once,
// and the first is the outcome of the command.
class Failures {
 public:
  void add(const Error& error) {
    if (first_) {
      first_ = std::unexpected(error);
    } else {
      fmt::print(stderr, "larder: {}\n", error.message());
    }
  }
  const Status& first() const { return first_; }

 private:
  Status first_;
};

}  // namespace larder::real
