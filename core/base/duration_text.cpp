#include "core/base/duration_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <memory>
#include <system_error>

#include "core/base/printable.h"

namespace larder {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t ns;
};
constexpr std::array units{Unit{"ns", 1},
                           Unit{"us", 1'000},
                           Unit{"ms", 1'000'000},
                           Unit{"s", 1'000'000'000},
                           Unit{"min", 60'000'000'000},
                           Unit{"h", 3'600'000'000'000},
                           Unit{"d", 86'400'000'000'000}};
constexpr std::int64_t ns_max = 36'525 * units.back().ns;  // 100 years

std::unexpected<Error> refused(std::string_view text, std::string_view why) {
  return failed(ErrorCode::invalid_params, in_quotes(text) +
                                               " is no duration: " + std::string(why) +
                                               " (durations look like 10s, 500ms or 1.5)");
}

const Unit* unit_named(std::string_view name) {
  for (const Unit& unit : units) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  if (text.empty()) return refused(text, "it is empty");
  if (text[0] < '0' || text[0] > '9') return refused(text, "it must begin with a digit");
  const std::size_t length = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view number = text.substr(0, length);
  std::string_view name = text.substr(length);
  if (name.size() > 1 && name[0] == ' ') name.remove_prefix(1);
  const Unit* unit = unit_named(name.empty() ? "s" : name);
  if (unit == nullptr) return refused(text, "its unit is not one of ns, us, ms, s, min, h, d");
  constexpr std::string_view too_long = "it is more than 100 years";
  const char* const first = std::to_address(number.begin());
  const char* const last = first + number.size();
  if (number.find('.') == std::string_view::npos) {  // exactly, however long
    std::int64_t count = 0;
    const auto [end, error] = std::from_chars(first, last, count);
    if (error != std::errc() || count > ns_max / unit->ns) return refused(text, too_long);
    return Duration(count * unit->ns);
  }
  double count = 0;
  const auto [end, error] = std::from_chars(first, last, count, std::chars_format::fixed);
  if (error != std::errc() || end != last || number.back() == '.') {
    return refused(text, in_quotes(number) + " is no number");
  }
  const double ns = count * static_cast<double>(unit->ns);
  if (ns > static_cast<double>(ns_max)) return refused(text, too_long);
  return Duration(std::llround(ns));
}

std::string duration_text(Duration duration) {
  const std::int64_t ns = duration.count();
  std::size_t unit = 3;
  while (ns % units[unit].ns != 0) --unit;
  return std::to_string(ns / units[unit].ns) + std::string(units[unit].name);
}

}  // namespace larder
