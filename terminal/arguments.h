#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "core/base/error.h"
#include "core/base/size_text.h"
#include "terminal/command.h"

namespace larder::terminal {

// Whether the whole text is one number that fits; no sign where the type has none, no spaces.
template <class Number>
bool parse_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// An option of one number, shown with its default. CLI11's own would take -1 for the largest
// unsigned number. `number` outlives `command`.
template <class Number>
Option add_number(Command command, const std::string& name, Number& number,
                  const std::string& description) {
  constexpr bool whole = std::is_integral_v<Number>;
  return command
      .add_parsed(
          name,
          [&number](const std::string& text) -> Status {
            Number parsed{};
            bool good = parse_number(text, parsed);
            if constexpr (!whole) good = good && std::isfinite(parsed);
            if (!good) {
              return failed(ErrorCode::invalid_params,
                            "'" + text + "' is not " +
                                (whole ? "a whole number from 0 to " +
                                             std::to_string(std::numeric_limits<Number>::max())
                                       : std::string("a number")));
            }
            number = parsed;
            return {};
          },
          description)
      .type_name(whole ? "NUMBER" : "DECIMAL")
      .default_str(fmt::format("{}", number));
}

// An option of one size (core/base/size_text.h). `size` outlives `command`.
inline Option add_size(Command command, const std::string& name, Bytes& size,
                       const std::string& description) {
  return command
      .add_parsed(
          name,
          [&size](const std::string& text) -> Status {
            LARDER_TRY(size, parse_size(text));
            return {};
          },
          description)
      .type_name("SIZE")
      .default_str(size_text(size));
}

}  // namespace larder::terminal
