#include "core/base/percent.h"

#include <charconv>
#include <cstdint>

#include "core/base/utf8.h"

namespace larder {

std::string percent_escaped(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const Utf8Character character = first_character(bytes);
    const std::size_t length = character.length == 0 ? 1 : character.length;
    if (character.length != 0 && is_shown(character.code) && character.code != '%') {
      text += bytes.substr(0, length);
    } else {
      for (const char c : bytes.substr(0, length)) {
        const auto byte = static_cast<std::uint8_t>(c);
        text += {'%', digits[byte >> 4], digits[byte & 15]};
      }
    }
    bytes.remove_prefix(length);
  }
  return text;
}

Result<std::string> percent_unescaped(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      bytes += text[i];
      continue;
    }
    const std::string_view code = text.substr(i + 1, 2);
    std::uint8_t byte = 0;
    const auto [end, error] = std::from_chars(code.data(), code.data() + code.size(), byte, 16);
    if (code.size() != 2 || error != std::errc() || end != code.data() + 2) {
      return failed(ErrorCode::invalid_params,
                    "the '%' at position " + std::to_string(i) +
                        " is not followed by two hexadecimal digits (a '%' itself is %25)");
    }
    bytes += static_cast<char>(byte);
    i += 2;
  }
  return bytes;
}

}  // namespace larder
