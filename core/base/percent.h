#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"

namespace larder {

// Any bytes as printable ASCII, as in URLs: "%" and whatever is not a printable character stands as
// %XX, everything else for itself.
std::string percent_escaped(std::string_view bytes);

// The bytes again; also takes text that escapes more than it must. Errors: invalid_params if a "%"
// is not followed by two hexadecimal digits.
Result<std::string> percent_unescaped(std::string_view text);

}  // namespace larder
