#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/base/time.h"

// What a setting's value may be, and how it is read and written. Text that is read is never empty
// and has no quotes or spaces around it: the reader of settings has refused that.

namespace larder::real {

// In which form of JSON a value may stand. On the command line and in the environment all is text.
enum class Form : std::uint8_t { text, number, text_or_number, boolean };

template <class T>
struct Value {
  std::string type;  // as --help names it: "SIZE"
  Form form = Form::text;
  // Errors: invalid_params whose detail names the text and what is wrong with it.
  std::function<Result<T>(std::string_view)> read;
  // What `read` reads back; empty where the setting is left open.
  std::function<std::string(const T&)> write;
};

// A path as text for JSON: itself, or, if it is no UTF-8, escaped (core/base/percent.h).
std::string path_text(const std::string& path);

// From 1 to `bytes_max` bytes of UTF-8, none of which is a control character.
Value<std::string> text_value(std::string type, std::size_t bytes_max);
// Any bytes but control characters; written as path_text(), which is the one thing that is not read
// back if it is no UTF-8.
Value<std::optional<std::filesystem::path>> path_value(std::string type);
Value<std::string> choice_value(std::vector<std::string> choices);
Value<bool> boolean_value();

struct SizeRange {
  Bytes min;
  Bytes max{std::numeric_limits<std::uint64_t>::max()};
};
Value<Bytes> size_value(SizeRange range);

struct DurationRange {
  Duration min;
  Duration max;
};
Value<Duration> duration_value(DurationRange range);

struct DecimalRange {
  double min;
  double max;
};
Value<double> decimal_value(DecimalRange range);

struct WholeRange {
  std::uint64_t min = 0;
  std::uint64_t max = std::numeric_limits<std::uint64_t>::max();
};
Result<std::uint64_t> parse_whole(std::string_view text, WholeRange range);
template <std::unsigned_integral T>
Value<T> whole_value(WholeRange range = {}) {
  range.max = std::min<std::uint64_t>(range.max, std::numeric_limits<T>::max());
  return {.type = "NUMBER",
          .form = Form::number,
          .read = [range](std::string_view text) -> Result<T> {
            LARDER_TRY(const std::uint64_t number, parse_whole(text, range));
            return static_cast<T>(number);
          },
          .write = [](const T& number) { return std::to_string(number); }};
}

}  // namespace larder::real
