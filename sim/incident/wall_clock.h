#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace larder::sim {

// A duration for people: "10.0 s", "200 ms", "1.5 ms".
std::string time_text(Duration duration);

// "2026-11-30 14:03:07.120000 UTC", of nanoseconds since 1970.
std::string wall_clock_text(std::int64_t ns);
// "14:03:07.120000"
std::string time_of_day_text(std::int64_t ns);

// A moment of a recording, in UTC: "14:03", "14:03:07.5" (on the day on which the recording begins,
// or on the next one if that is before it), "2026-11-30 14:03", or "+12.5s" after its begin.
// Errors: invalid_params.
Result<std::int64_t> parse_moment(std::string_view text, std::int64_t begin_ns);

}  // namespace larder::sim
