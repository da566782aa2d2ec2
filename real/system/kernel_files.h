#pragma once

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

// How the small files below /proc and /sys are read. What is not there, or cannot be read, is
// empty.

namespace larder::real {

std::vector<std::string> lines_of(const std::filesystem::path& path);
// The first line.
std::string text_of(const std::filesystem::path& path);
// The names in a directory, in order.
std::vector<std::string> names_in(const std::filesystem::path& directory);

std::vector<std::string> words_of(std::string_view line);
// "4: ACTIVE" without the number.
std::string behind_colon(const std::string& text);

// The number with which a text begins.
template <class Number = std::uint64_t>
std::optional<Number> number_of(std::string_view text, int base = 10) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return number;
}

}  // namespace larder::real
