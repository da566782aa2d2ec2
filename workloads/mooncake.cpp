#include "workloads/mooncake.h"

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/assert.h"
#include "core/base/json_problem.h"
#include "core/base/printable.h"

namespace larder::workloads {
namespace {

using nlohmann::json;

constexpr std::uint64_t ns_per_ms = 1'000'000;
constexpr auto arrival_max_ns =
    static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

// The parser's events of one line, checked as they come. Each event returns whether to go on; when
// it is not, `problem` says why.
class LineEvents {
 public:
  struct Fields {
    Duration timestamp{0};
    std::uint64_t input_length = 0;
    std::uint64_t output_length = 0;
    std::vector<BlockId> hash_ids;
  };
  Fields fields;
  std::string problem;

  // Forgets the line before, and keeps its memory.
  void restart() {
    fields.hash_ids.clear();
    problem.clear();
    field_ = Field::none;
    seen_ = {};
    depth_ = 0;
    in_ids_ = false;
  }

  // After the last event: whether every field came.
  bool complete() {
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      if (!seen_[i]) return refuse("the field '" + std::string(names[i]) + "' is missing");
    }
    return true;
  }

  bool null() { return other("null"); }
  bool boolean(bool value) { return other(value ? "true" : "false"); }
  bool string(std::string& value) { return other("the string " + in_quotes(value)); }
  bool binary(json::binary_t&) { return other("binary"); }
  // Of numbers with a minus sign.
  bool number_integer(std::int64_t value) {
    return other(value == 0 ? "-0" : std::to_string(value));
  }

  bool number_unsigned(std::uint64_t value) {
    if (!wanted()) return depth_ > 0 || other(std::to_string(value));
    switch (field_) {
      case Field::timestamp:
        if (value > arrival_max_ns / ns_per_ms) return other(std::to_string(value));
        fields.timestamp = Duration(static_cast<std::int64_t>(value * ns_per_ms));
        return true;
      case Field::hash_ids:
        if (!in_ids_) return other(std::to_string(value));
        fields.hash_ids.push_back({value});
        return true;
      default:
        if (value > request_tokens_max) return other(std::to_string(value));
        (field_ == Field::input_length ? fields.input_length : fields.output_length) = value;
        return true;
    }
  }

  bool number_float(double value, const std::string& text) {
    if (!wanted() || field_ != Field::timestamp) return other(text);
    const double ns = std::round(value * static_cast<double>(ns_per_ms));
    // As a double, the largest count of nanoseconds rounds up to 2^63: out of range.
    if (!(ns >= 0 && ns < static_cast<double>(arrival_max_ns))) return other(text);
    fields.timestamp = Duration(static_cast<std::int64_t>(ns));
    return true;
  }

  bool start_object(std::size_t) {
    if (depth_ > 0 && !other("an object")) return false;
    ++depth_;
    return true;
  }
  bool end_object() {
    --depth_;
    return true;
  }
  bool key(std::string& name) {
    if (depth_ != 1) return true;
    field_ = Field::none;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] != name) continue;
      if (std::exchange(seen_[i], true)) return refuse("the field '" + name + "' comes twice");
      field_ = static_cast<Field>(i);
    }
    return true;
  }
  bool start_array(std::size_t) {
    const bool starts_ids = depth_ == 1 && field_ == Field::hash_ids;
    if (!starts_ids && !other("an array")) return false;
    in_ids_ = in_ids_ || starts_ids;
    ++depth_;
    return true;
  }
  bool end_array() {
    --depth_;
    if (depth_ == 1) in_ids_ = false;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const json::exception& error) {
    std::string text = json_problem(error);
    if (text.starts_with("line 1, ")) text.erase(0, 8);
    return refuse(std::move(text));
  }

 private:
  enum class Field : std::uint8_t { timestamp, input_length, output_length, hash_ids, none };
  static constexpr std::array<std::string_view, 4> names{"timestamp", "input_length",
                                                         "output_length", "hash_ids"};
  static constexpr std::array<std::string_view, 4> needs{
      "a number of milliseconds from 0 to 9223372036854", "a whole number from 0 to 4294967295",
      "a whole number from 0 to 4294967295", "a list"};
  static constexpr std::string_view id_needs = "a whole number from 0 to 18446744073709551615";

  // Whether the value that comes now is one that we use.
  bool wanted() const { return field_ != Field::none && depth_ == (in_ids_ ? 2 : 1); }

  bool refuse(std::string why) {
    problem = std::move(why);
    return false;
  }

  // A value that cannot be right where we use it, and does not matter elsewhere.
  bool other(std::string_view value) {
    if (depth_ == 0) return refuse("must be a JSON object, not " + std::string(value));
    if (!wanted()) return true;
    const auto i = static_cast<std::size_t>(field_);
    std::string name(names[i]);
    if (in_ids_) name += '[' + std::to_string(fields.hash_ids.size()) + ']';
    return refuse(name + " is " + printable(value, 80) + ", must be " +
                  std::string(in_ids_ ? id_needs : needs[i]));
  }

  Field field_ = Field::none;
  std::array<bool, 4> seen_{};
  std::size_t depth_ = 0;
  bool in_ids_ = false;
};

class MooncakeReader final : public TraceReader {
 public:
  MooncakeReader(InputFile file, std::uint32_t block_tokens)
      : file_(std::move(file)), block_tokens_(block_tokens) {}

  Result<const Request*> next() override {
    LARDER_TRY(const auto line, file_.next_line(mooncake_line_bytes_max));
    if (!line && file_.line() == 0) {
      return failed(ErrorCode::bad_file, file_.path().string() + ": line 1: the file is empty");
    }
    if (!line) return nullptr;
    if (line->find_first_not_of(" \t\r") == std::string_view::npos) return bad("the line is empty");
    // The parser takes a NUL for the end of its text and would pass over what follows.
    if (const std::size_t nul = line->find('\0'); nul != std::string_view::npos) {
      return bad("column " + std::to_string(nul + 1) + ": a NUL byte");
    }
    events_.restart();
    if (!json::sax_parse(line->begin(), line->end(), &events_) || !events_.complete()) {
      return bad(events_.problem);
    }
    const LineEvents::Fields& fields = events_.fields;
    const std::uint64_t needed = (fields.input_length + block_tokens_ - 1) / block_tokens_;
    if (fields.hash_ids.size() != needed) {
      return bad("hash_ids has " + std::to_string(fields.hash_ids.size()) + " ids, but " +
                 std::to_string(fields.input_length) + " input tokens are " +
                 std::to_string(needed) + " blocks of " + std::to_string(block_tokens_));
    }
    if (fields.timestamp < request_.arrival) {
      return bad("the timestamp is earlier than that of the line before");
    }
    request_.arrival = fields.timestamp;
    request_.input_tokens = fields.input_length;
    request_.output_tokens = fields.output_length;
    request_.block_tokens = block_tokens_;
    request_.blocks = fields.hash_ids;
    return &request_;
  }

 private:
  std::unexpected<Error> bad(const std::string& what) const {
    return failed(ErrorCode::bad_file,
                  file_.path().string() + ": line " + std::to_string(file_.line()) + ": " + what);
  }

  InputFile file_;
  std::uint32_t block_tokens_;
  LineEvents events_;
  Request request_;
};

}  // namespace

std::unique_ptr<TraceReader> read_mooncake(InputFile file, std::uint32_t block_tokens) {
  LARDER_ASSERT(block_tokens > 0);
  return std::make_unique<MooncakeReader>(std::move(file), block_tokens);
}

std::string mooncake_line(const Request& request) {
  std::string line =
      "{\"timestamp\": " + std::to_string(request.arrival / std::chrono::milliseconds(1)) +
      ", \"input_length\": " + std::to_string(request.input_tokens) +
      ", \"output_length\": " + std::to_string(request.output_tokens) + ", \"hash_ids\": [";
  for (std::size_t i = 0; i < request.blocks.size(); ++i) {
    if (i > 0) line += ", ";
    line += std::to_string(request.blocks[i].value);
  }
  line += "]}\n";
  return line;
}

}  // namespace larder::workloads
