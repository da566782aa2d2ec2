#include "sim/incident/wall_clock.h"

#include <charconv>
#include <chrono>
#include <cstdio>
#include <optional>

#include "core/base/duration_text.h"
#include "core/base/printable.h"

namespace larder::sim {
namespace {

using namespace std::chrono;
using Wall = sys_time<nanoseconds>;

constexpr std::int64_t day_ns = duration_cast<nanoseconds>(days(1)).count();

std::unexpected<Error> no_moment(std::string_view text) {
  return failed(ErrorCode::invalid_params,
                in_quotes(text) +
                    " is no moment: it takes 14:03, 14:03:07.5 or 2026-11-30 14:03 in UTC, or "
                    "+12.5s after the begin");
}

std::optional<unsigned> number(std::string_view text, unsigned below) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value >= below) {
    return std::nullopt;
  }
  return value;
}

// Of "14:03" and what may follow.
std::optional<nanoseconds> time_of_day(std::string_view text) {
  if (text.size() < 5 || text[2] != ':') return std::nullopt;
  const auto hour = number(text.substr(0, 2), 24);
  const auto minute = number(text.substr(3, 2), 60);
  if (!hour || !minute) return std::nullopt;
  nanoseconds result = hours(*hour) + minutes(*minute);
  text.remove_prefix(5);
  if (text.empty()) return result;
  if (text.size() < 3 || text[0] != ':') return std::nullopt;
  const auto second = number(text.substr(1, 2), 60);
  if (!second) return std::nullopt;
  result += seconds(*second);
  text.remove_prefix(3);
  if (text.empty()) return result;
  if (text[0] != '.' || text.size() < 2 || text.size() > 10) return std::nullopt;
  std::string digits(text.substr(1));
  digits.resize(9, '0');
  const auto fraction = number(digits, 1'000'000'000);
  if (!fraction) return std::nullopt;
  return result + nanoseconds(*fraction);
}

std::optional<sys_days> date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto y = number(text.substr(0, 4), 10'000);
  const auto m = number(text.substr(5, 2), 13);
  const auto d = number(text.substr(8, 2), 32);
  if (!y || !m || !d) return std::nullopt;
  const year_month_day whole{year(static_cast<int>(*y)), month(*m), day(*d)};
  if (!whole.ok()) return std::nullopt;
  return sys_days(whole);
}

}  // namespace

std::string time_text(Duration duration) {
  const auto ns = static_cast<double>(duration.count());
  char text[32];
  if (duration >= seconds(1)) {
    std::snprintf(text, sizeof(text), "%.1f s", ns / 1e9);
  } else {
    std::snprintf(text, sizeof(text), duration >= milliseconds(10) ? "%.0f ms" : "%.1f ms",
                  ns / 1e6);
  }
  return text;
}

std::string time_of_day_text(std::int64_t ns) {
  const hh_mm_ss time(nanoseconds(ns) - floor<days>(Wall(nanoseconds(ns))).time_since_epoch());
  char text[32];
  std::snprintf(text, sizeof(text), "%02d:%02d:%02d.%06d", static_cast<int>(time.hours().count()),
                static_cast<int>(time.minutes().count()), static_cast<int>(time.seconds().count()),
                static_cast<int>(time.subseconds().count() / 1000));
  return text;
}

std::string wall_clock_text(std::int64_t ns) {
  const year_month_day date(floor<days>(Wall(nanoseconds(ns))));
  char text[32];
  std::snprintf(text, sizeof(text), "%04d-%02u-%02u ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  return text + time_of_day_text(ns) + " UTC";
}

Result<std::int64_t> parse_moment(std::string_view text, std::int64_t begin_ns) {
  if (text.starts_with('+')) {
    const auto after = parse_duration(text.substr(1));
    if (!after) return no_moment(text);
    return begin_ns + after->count();
  }
  if (const auto whole = text.size() > 11 ? date(text.substr(0, 10)) : std::nullopt) {
    const auto time = time_of_day(text.substr(11));
    if (!time || (text[10] != ' ' && text[10] != 'T')) return no_moment(text);
    return (Wall(*whole) + *time).time_since_epoch().count();
  }
  const auto time = time_of_day(text);
  if (!time) return no_moment(text);
  const std::int64_t moment = begin_ns / day_ns * day_ns + time->count();
  return moment < begin_ns / 60'000'000'000 * 60'000'000'000 ? moment + day_ns : moment;
}

}  // namespace larder::sim
