#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

namespace larder::sim {

// The pieces between the separators, empty ones too. CLI11's own lists take the arguments behind
// them as well, which would swallow TRACE; so a list is one argument here.
inline std::vector<std::string_view> split(std::string_view list, char separator) {
  std::vector<std::string_view> pieces;
  while (true) {
    const std::size_t end = list.find(separator);
    pieces.push_back(list.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    list.remove_prefix(end + 1);
  }
}

// Whether the whole text is one number that fits; no sign where the type has none, no spaces.
template <class Number>
bool parse_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// An option of one number, shown with its default. CLI11's own would take -1 for the largest
// unsigned number. `number` outlives `command`.
template <class Number>
void add_number(CLI::App& command, const std::string& name, Number& number,
                const std::string& description) {
  constexpr bool whole = std::is_integral_v<Number>;
  command
      .add_option_function<std::string>(
          name,
          [name, &number](const std::string& text) {
            Number parsed{};
            bool good = parse_number(text, parsed);
            if constexpr (!whole) good = good && std::isfinite(parsed);
            if (!good) {
              throw CLI::ValidationError(
                  name, "'" + text + "' is not " +
                            (whole ? "a whole number from 0 to " +
                                         std::to_string(std::numeric_limits<Number>::max())
                                   : std::string("a number")));
            }
            number = parsed;
          },
          description)
      ->type_name(whole ? "NUMBER" : "DECIMAL")
      ->default_str(fmt::format("{}", number));
}

}  // namespace larder::sim
