#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"

namespace larder {

// Any bytes as text that is safe on a terminal and in JSON: "%", bytes that are no UTF-8, and
// characters that a terminal would obey or not show stand as %XX, everything else for itself. The
// one form in which keys are shown to people and programs.
std::string percent_escaped(std::string_view bytes);

// The bytes again; also takes text that escapes more than it must. Errors: invalid_params if a "%"
// is not followed by two hexadecimal digits.
Result<std::string> percent_unescaped(std::string_view text);

}  // namespace larder
