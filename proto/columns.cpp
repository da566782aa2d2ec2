#include "proto/columns.h"

#include <limits>

namespace larder::columns {
namespace {

std::string quoted(std::string_view name) { return "'" + std::string(name) + "'"; }

}  // namespace

std::unexpected<Error> Reader::malformed(std::string detail) const {
  return failed(ErrorCode::invalid_params, "malformed " + std::string(message_) + ": " + detail);
}

Status Reader::entries(std::string_view column, int found, std::size_t expected) const {
  if (std::cmp_equal(found, expected)) return {};
  return malformed("column " + quoted(column) + " has " + std::to_string(found) + " entries, not " +
                   std::to_string(expected));
}

std::unexpected<Error> Reader::text_too_long(TextRule rule, std::size_t index,
                                             std::size_t length) const {
  return failed(ErrorCode::invalid_key, std::string(message_) + ": entry " + std::to_string(index) +
                                            " of " + quoted(rule.column) + " has " +
                                            std::to_string(length) + " bytes, more than " +
                                            std::to_string(rule.longest));
}

std::unexpected<Error> Reader::texts_disagree(TextRule rule, const wire::Texts& column) const {
  return malformed("the lengths of " + quoted(rule.column) + " do not add up to its " +
                   std::to_string(column.joined().size()) + " bytes");
}

std::unexpected<Error> Reader::bad_flag(std::string_view name, std::uint32_t index) const {
  return malformed("index " + std::to_string(index) + " in " + quoted(name) +
                   " is out of order or beyond the " + std::to_string(count_) + " items");
}

Result<Duration> Reader::duration(std::string_view name, std::uint64_t nanoseconds) const {
  if (nanoseconds > wire_duration(duration_max)) {
    return malformed(quoted(name) + " holds a duration that is negative or beyond 100 years");
  }
  return Duration(static_cast<Duration::rep>(nanoseconds));
}

Result<std::string_view> Reader::text(TextRule rule, std::string_view value) const {
  if (value.size() > rule.longest) return text_too_long(rule, 0, value.size());
  return value;
}

Result<Reader> reader(std::string_view message, std::int64_t count) {
  if (std::cmp_greater(count, items_per_call_max)) {
    return failed(ErrorCode::invalid_params, std::string(message) + " carries " +
                                                 std::to_string(count) + " items, more than " +
                                                 std::to_string(items_per_call_max));
  }
  return Reader(message, static_cast<std::size_t>(count));
}

Result<Reader> reader_of_ids(std::string_view message, int halves) {
  if (halves % 2 != 0) return Reader(message, 0).malformed("half an id");
  return reader(message, halves / 2);
}

Status parse(FrameBytes bytes, std::string_view message, google::protobuf::MessageLite& out) {
  const bool fits = std::cmp_less_equal(bytes.size(), std::numeric_limits<int>::max());
  if (!fits || !out.ParseFromArray(bytes.data(), to_int(bytes.size()))) {
    return failed(ErrorCode::invalid_params, "the " + std::to_string(bytes.size()) +
                                                 " bytes are no message of the kind " +
                                                 std::string(message));
  }
  return {};
}

void append(const google::protobuf::MessageLite& message, std::string& frame) {
  LARDER_ASSERT(message.AppendToString(&frame), "a message is smaller than 2 GiB");
}

Result<SegmentKind> take_kind(std::uint32_t kind) {
  if (kind > static_cast<std::uint32_t>(SegmentKind::file)) {
    return failed(ErrorCode::invalid_params, "unknown segment kind " + std::to_string(kind));
  }
  return static_cast<SegmentKind>(kind);
}

}  // namespace larder::columns
