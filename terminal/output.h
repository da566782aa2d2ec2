#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace larder::terminal {

// Writes to stdout and looks at the result: a full disk or a closed pipe is an error.
Status print(std::string_view text);

// "12,031"
std::string with_thousands(std::uint64_t number);
// A duration for people: "0.25 ms", "3.1 s", "12 min", "5.0 h", "3.2 days".
std::string as_time(double seconds);
// "36.64 %", or "no data"
std::string as_percent(std::optional<double> ratio);

}  // namespace larder::terminal
