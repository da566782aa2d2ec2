#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/assert.h"
#include "core/pattern/pattern.h"
#include "core/protocol/limits.h"

// Globs and regular expressions over keys, as callers send them. The first byte chooses, the text
// is the pattern up to a NUL, and then the key. A glob means what a plain matcher says; a regular
// expression is compiled or refused, and then matches in bounded time.

namespace larder {
namespace {

// A glob's part that stands for one byte: which ones it takes.
struct One {
  bool star = false;  // or any number of any
  std::vector<bool> takes = std::vector<bool>(256);
};

// The glob in parts. It is one, since regex_of_glob took it.
std::vector<One> parts_of(std::string_view glob) {
  std::vector<One> parts;
  std::size_t at = 0;
  const auto byte = [&] {
    if (glob[at] == '\\') ++at;
    return static_cast<std::uint8_t>(glob[at++]);
  };
  while (at < glob.size()) {
    One& one = parts.emplace_back();
    if (glob[at] == '*' || glob[at] == '?') {
      one.star = glob[at++] == '*';
      one.takes.assign(256, true);
    } else if (glob[at] == '[') {
      ++at;
      const bool none_of = glob[at] == '^' || glob[at] == '!';
      if (none_of) ++at;
      while (glob[at] != ']') {
        const std::uint8_t low = byte();
        std::uint8_t high = low;
        if (glob[at] == '-' && glob[at + 1] != ']') {
          ++at;
          high = byte();
        }
        for (unsigned i = low; i <= high; ++i) one.takes[i] = true;
      }
      ++at;
      if (none_of) one.takes.flip();
    } else {
      one.takes[byte()] = true;
    }
  }
  return parts;
}

bool matches(const std::vector<One>& parts, std::string_view text) {
  // reached[i]: the parts so far can take the first i bytes.
  std::vector<bool> reached(text.size() + 1);
  reached[0] = true;
  for (const One& one : parts) {
    std::vector<bool> next(text.size() + 1);
    for (std::size_t i = 0; i <= text.size(); ++i) {
      if (one.star) {
        next[i] = reached[i] || (i > 0 && next[i - 1]);
      } else {
        next[i] = i > 0 && reached[i - 1] && one.takes[static_cast<std::uint8_t>(text[i - 1])];
      }
    }
    reached = std::move(next);
  }
  return reached.back();
}

void check_glob(std::string_view glob, std::string_view key) {
  const auto regex = regex_of_glob(glob);
  if (!regex) {
    LARDER_ASSERT(regex.error().code() == ErrorCode::invalid_params);
    return;
  }
  const auto pattern = Pattern::make(*regex);
  if (!pattern) {
    LARDER_ASSERT(glob.size() > 64, "a short glob is always a pattern");
    return;
  }
  LARDER_ASSERT(pattern->matches(key) == matches(parts_of(glob), key));
}

void check_regex(std::string_view regex, std::string_view key) {
  const auto pattern = Pattern::make(regex);
  if (pattern) {
    (void)pattern->matches(key);  // that it comes back, and reads no byte that is not the key's
  } else {
    LARDER_ASSERT(pattern.error().code() == ErrorCode::invalid_params);
  }
}

}  // namespace
}  // namespace larder

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  const std::size_t end = std::min(text.find('\0'), text.size());
  const std::string_view key = text.substr(std::min(end + 1, text.size()));
  if (key.size() > larder::key_bytes_max) return 0;
  if (data[0] % 2 == 0) {
    larder::check_glob(text.substr(0, end), key);
  } else {
    larder::check_regex(text.substr(0, end), key);
  }
  return 0;
}
