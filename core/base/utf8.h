#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace larder {

struct Utf8Character {
  std::uint32_t code = 0;
  std::size_t length = 0;  // 0: the text does not begin with a character of UTF-8
};

// The first character; no overlong form, no surrogate, nothing beyond U+10FFFF. Precondition: the
// text is not empty.
Utf8Character first_character(std::string_view text);

// False for what a terminal would obey, or would not show: control characters, line and paragraph
// separators, marks that turn the direction of what follows.
bool is_shown(std::uint32_t code);

}  // namespace larder
