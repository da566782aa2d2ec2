#include "core/base/percent.h"

#include <charconv>
#include <cstdint>

namespace larder {

std::string percent_escaped(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string text;
  text.reserve(bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (byte > 0x20 && byte < 0x7f && c != '%') {
      text += c;
    } else {
      text += {'%', digits[byte >> 4], digits[byte & 15]};
    }
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
