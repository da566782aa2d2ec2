#include "real/settings/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include "core/base/duration_text.h"
#include "core/base/percent.h"
#include "core/base/printable.h"
#include "core/base/size_text.h"
#include "core/base/utf8.h"

namespace larder::real {
namespace {

std::unexpected<Error> refused(std::string detail) {
  return failed(ErrorCode::invalid_params, std::move(detail));
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = first_character(text).length;
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

Status check_bytes(std::string_view text, std::size_t bytes_max) {
  if (text.size() > bytes_max) {
    return refused(fmt::format("it has {} bytes, {} are the most", text.size(), bytes_max));
  }
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (std::ranges::any_of(text, is_control)) {
    return refused("it has a control character in it");
  }
  return {};
}

template <class Number>
bool is_whole_text(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Value<std::string> text_value(std::string type, std::size_t bytes_max) {
  return {.type = std::move(type),
          .form = Form::text,
          .read = [bytes_max](std::string_view text) -> Result<std::string> {
            LARDER_CHECK(check_bytes(text, bytes_max));
            if (!is_utf8(text)) return refused(fmt::format("{} is no UTF-8", in_quotes(text)));
            return std::string(text);
          },
          .write = [](const std::string& text) { return text; }};
}

std::string path_text(const std::string& path) {
  return is_utf8(path) ? path : percent_escaped(path);
}

Value<std::optional<std::filesystem::path>> path_value(std::string type) {
  constexpr std::size_t path_bytes_max = 4095;  // of Linux
  using Path = std::optional<std::filesystem::path>;
  return {.type = std::move(type),
          .form = Form::text,
          .read = [](std::string_view text) -> Result<Path> {
            LARDER_CHECK(check_bytes(text, path_bytes_max));
            return Path(text);
          },
          .write = [](const Path& path) { return path ? path_text(path->string()) : ""; }};
}

Value<std::string> choice_value(std::vector<std::string> choices) {
  std::string type = fmt::format("{}", fmt::join(choices, "|"));
  return {.type = std::move(type),
          .form = Form::text,
          .read = [choices](std::string_view text) -> Result<std::string> {
            if (std::ranges::count(choices, text) > 0) return std::string(text);
            return refused(
                fmt::format("{} is not one of {}", in_quotes(text), fmt::join(choices, ", ")));
          },
          .write = [](const std::string& text) { return text; }};
}

Value<bool> boolean_value() {
  return {.type = "",
          .form = Form::boolean,
          .read = [](std::string_view text) -> Result<bool> {
            if (text == "true") return true;
            if (text == "false") return false;
            return refused(fmt::format("{} is neither true nor false", in_quotes(text)));
          },
          .write = [](const bool& on) { return std::string(on ? "true" : "false"); }};
}

Value<Bytes> size_value(SizeRange range) {
  return {.type = "SIZE",
          .form = Form::text_or_number,
          .read = [range](std::string_view text) -> Result<Bytes> {
            LARDER_TRY(const Bytes size, parse_size(text));
            if (size < range.min || size > range.max) {
              return refused(fmt::format("{} is not from {} to {}", printable(text, 60),
                                         exact_size_text(range.min), exact_size_text(range.max)));
            }
            return size;
          },
          .write = exact_size_text};
}

Value<Duration> duration_value(DurationRange range) {
  return {.type = "DURATION",
          .form = Form::text_or_number,
          .read = [range](std::string_view text) -> Result<Duration> {
            LARDER_TRY(const Duration duration, parse_duration(text));
            if (duration < range.min || duration > range.max) {
              return refused(fmt::format("{} is not from {} to {}", printable(text, 60),
                                         duration_text(range.min), duration_text(range.max)));
            }
            return duration;
          },
          .write = duration_text};
}

Value<double> decimal_value(DecimalRange range) {
  return {.type = "DECIMAL",
          .form = Form::number,
          .read = [range](std::string_view text) -> Result<double> {
            double number = 0;
            if (!is_whole_text(text, number) || !std::isfinite(number)) {
              return refused(fmt::format("{} is no number", in_quotes(text)));
            }
            if (number < range.min || number > range.max) {
              return refused(fmt::format("{} is not from {} to {}", printable(text, 60), range.min,
                                         range.max));
            }
            return number;
          },
          .write = [](const double& number) { return fmt::format("{}", number); }};
}

Result<std::uint64_t> parse_whole(std::string_view text, WholeRange range) {
  std::uint64_t number = 0;
  if (!is_whole_text(text, number) || number < range.min || number > range.max) {
    return refused(fmt::format("{} is not a whole number from {} to {}", in_quotes(text), range.min,
                               range.max));
  }
  return number;
}

}  // namespace larder::real
