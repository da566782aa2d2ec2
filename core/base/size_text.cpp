#include "core/base/size_text.h"

#include <array>
#include <charconv>
#include <limits>
#include <system_error>

#include "core/base/printable.h"

namespace larder {
namespace {

constexpr std::string_view unit_letters = "KMGTP";

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

std::unexpected<Error> refused(std::string_view text, std::string_view why) {
  return failed(ErrorCode::invalid_params, in_quotes(text) + " is no size: " + std::string(why) +
                                               " (sizes look like 4096, 512MiB or 4gb)");
}

// How far the number is shifted, or -1.
int shift_of(std::string_view unit) {
  if (unit.empty() || (unit.size() == 1 && upper(unit[0]) == 'B')) return 0;
  const std::size_t power = unit_letters.find(upper(unit[0]));
  if (power == std::string_view::npos) return -1;
  const std::string_view rest = unit.substr(1);
  const bool plain = rest.empty() || (rest.size() == 1 && upper(rest[0]) == 'B');
  const bool binary = rest.size() == 2 && upper(rest[0]) == 'I' && upper(rest[1]) == 'B';
  return plain || binary ? static_cast<int>(10 * (power + 1)) : -1;
}

}  // namespace

Result<Bytes> parse_size(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (text.empty()) return refused(text, "it is empty");
  if (text[0] == '\'' || text[0] == '"') return refused(text, "the quotes are part of it");
  if (text[0] == '-' || text[0] == '+') return refused(text, "a size has no sign");
  if (digits == 0) return refused(text, "it must begin with a digit");
  std::uint64_t number = 0;
  const std::string_view whole = text.substr(0, digits);
  const auto [end, error] = std::from_chars(whole.data(), whole.data() + whole.size(), number);
  if (error != std::errc()) return refused(text, "it does not fit into 64 bits");
  std::string_view unit = text.substr(digits);
  if (unit.starts_with('.')) return refused(text, "fractions are not taken, use a smaller unit");
  const bool spaced = unit.starts_with(' ');
  if (spaced) unit.remove_prefix(1);
  const int shift = spaced && unit.empty() ? -1 : shift_of(unit);
  if (shift < 0) {
    return refused(text, in_quotes(unit.substr(0, 20)) +
                             " is not one of the units B, KiB, MiB, GiB, TiB, PiB");
  }
  if (number > std::numeric_limits<std::uint64_t>::max() >> shift) {
    return refused(text, "it does not fit into 64 bits");
  }
  return Bytes{number << shift};
}

std::string exact_size_text(Bytes size) {
  int power = 0;
  std::uint64_t number = size.value;
  while (power < 5 && number != 0 && number % 1024 == 0) {
    number /= 1024;
    ++power;
  }
  if (power == 0) return std::to_string(number);
  return std::to_string(number) + unit_letters[static_cast<std::size_t>(power - 1)] + "iB";
}

std::string size_text(Bytes size) {
  if (size.value < 1024) return std::to_string(size.value) + " B";
  int power = 1;
  while (power < 5 && size.value >> (10 * (power + 1)) != 0) ++power;
  double number =
      static_cast<double>(size.value) / static_cast<double>(std::uint64_t{1} << (10 * power));
  if (number >= 1023.995 && power < 5) {  // it would be rounded to 1024.00
    number /= 1024;
    ++power;
  }
  std::array<char, 32> text{};
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed, 2);
  return std::string(text.data(), end) + " " + unit_letters[static_cast<std::size_t>(power - 1)] +
         "iB";
}

}  // namespace larder
