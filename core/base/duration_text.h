#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/base/time.h"

namespace larder {

// A duration as people write it: a number, perhaps with a fraction, then perhaps a unit, with or
// without one space between: ns, us, ms, s, min, h, d. Without a unit it is seconds. Errors:
// invalid_params with the text and what is wrong with it (empty, a sign, quotes, an exponent, an
// unknown unit, more than 100 years).
Result<Duration> parse_duration(std::string_view text);

// What parse_duration reads back to the same duration, in the largest unit from ns to s in which it
// is whole: "10s", "1500ms". Precondition: not negative.
std::string duration_text(Duration duration);

}  // namespace larder
