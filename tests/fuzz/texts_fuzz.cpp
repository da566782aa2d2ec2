#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/assert.h"
#include "core/base/duration_text.h"
#include "core/base/percent.h"
#include "core/base/size_text.h"
#include "real/rpc/endpoint.h"

// What people type: the first byte chooses the reader, the rest is the text. What it accepts, its
// writer writes so that it is read as the same; what it refuses, it refuses in a message that is
// short, names no more than a piece of the text, and can be shown on a terminal.

namespace larder {
namespace {

constexpr std::size_t message_bytes_max = 1500;

template <class T>
bool is_refused(const Result<T>& read) {
  if (read) return false;
  LARDER_ASSERT(read.error().code() == ErrorCode::invalid_params);
  const std::string message = read.error().message();
  LARDER_ASSERT(message.size() <= message_bytes_max, "a message is bounded");
  LARDER_ASSERT(
      std::ranges::none_of(message, [](unsigned char c) { return c < 0x20 || c == 0x7f; }),
      "and has no control characters");
  return true;
}

void check_size(std::string_view text) {
  const auto size = parse_size(text);
  if (is_refused(size)) return;
  LARDER_ASSERT(parse_size(exact_size_text(*size)) == *size);
  LARDER_ASSERT(!size_text(*size).empty());
}

void check_duration(std::string_view text) {
  const auto duration = parse_duration(text);
  if (is_refused(duration)) return;
  LARDER_ASSERT(*duration >= Duration(0));
  LARDER_ASSERT(parse_duration(duration_text(*duration)) == *duration);
}

void check_endpoint(std::string_view text) {
  const auto endpoint = real::parse_endpoint(text);
  if (!is_refused(endpoint)) {
    LARDER_ASSERT(real::parse_endpoint(to_string(*endpoint)) == *endpoint);
  }
  const auto with_default = real::parse_endpoint(text, 7700);
  if (is_refused(with_default)) return;
  LARDER_ASSERT(real::parse_endpoint(to_string(*with_default)) == *with_default);
  LARDER_ASSERT(!endpoint || *endpoint == *with_default, "a port that is there counts");
}

// Any bytes are some key; most texts are the name of one.
void check_percent(std::string_view text) {
  const std::string escaped = percent_escaped(text);
  LARDER_ASSERT(percent_unescaped(escaped) == text);
  LARDER_ASSERT(escaped.size() <= 3 * text.size());
  const auto bytes = percent_unescaped(text);
  if (is_refused(bytes)) return;
  LARDER_ASSERT(percent_unescaped(percent_escaped(*bytes)) == *bytes);
}

}  // namespace
}  // namespace larder

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0] % 4) {
    case 0:
      larder::check_size(text);
      break;
    case 1:
      larder::check_duration(text);
      break;
    case 2:
      larder::check_endpoint(text);
      break;
    default:
      larder::check_percent(text);
      break;
  }
  return 0;
}
