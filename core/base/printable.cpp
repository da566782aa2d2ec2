#include "core/base/printable.h"

#include <cstdint>

#include "core/base/utf8.h"

namespace larder {

std::string printable(std::string_view text, std::size_t bytes_max) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string shown;
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    std::string next;
    if (character.length != 0 && is_shown(character.code)) {
      next = text.substr(0, character.length);
    } else {
      const std::size_t length = character.length == 0 ? 1 : character.length;
      for (const char c : text.substr(0, length)) {
        const auto byte = static_cast<std::uint8_t>(c);
        next += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
      }
    }
    if (shown.size() + next.size() > bytes_max) return shown + "...";
    shown += next;
    text.remove_prefix(character.length == 0 ? 1 : character.length);
  }
  return shown;
}

std::string in_quotes(std::string_view word) { return "'" + printable(word, 60) + "'"; }

}  // namespace larder
