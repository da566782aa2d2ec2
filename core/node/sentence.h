#pragma once

#include <concepts>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/id.h"

namespace larder {

inline void append(std::string& to, std::string_view text) { to += text; }
inline void append(std::string& to, std::integral auto number) { to += std::to_string(number); }
inline void append(std::string& to, Bytes bytes) { to += std::to_string(bytes.value); }
inline void append(std::string& to, Epoch epoch) { to += std::to_string(epoch.value); }
inline void append(std::string& to, PutId id) { to += to_string(id); }
template <class Tag>
void append(std::string& to, const Id<Tag>& id) {
  to += to_string(id);
}

// The parts one after the other: the detail of an error, with its numbers.
std::string sentence(const auto&... parts) {
  std::string text;
  (append(text, parts), ...);
  return text;
}

}  // namespace larder
