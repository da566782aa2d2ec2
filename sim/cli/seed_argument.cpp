#include "sim/cli/seed_argument.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>
#include <string_view>

#include "core/base/printable.h"
#include "terminal/arguments.h"

namespace larder::sim {
namespace {

std::uint64_t parse_seed(const std::string& option, const std::string& text) {
  std::uint64_t seed = 0;
  if (terminal::parse_number(text, seed)) return seed;
  const std::string_view digits = std::string_view(text).substr(0, 16);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seed, 16);
  const bool hexadecimal = std::ranges::all_of(
      text, [](char each) { return std::isxdigit(static_cast<unsigned char>(each)) != 0; });
  if (error != std::errc() || end != digits.data() + digits.size() || !hexadecimal) {
    throw CLI::ValidationError(option,
                               in_quotes(text) + " is neither a number nor a commit's name");
  }
  return seed;
}

}  // namespace

CLI::Option* add_seed(CLI::App& command, const std::string& names, std::uint64_t& seed,
                      const std::string& what) {
  return command
      .add_option_function<std::string>(
          names, [&seed, names](const std::string& text) { seed = parse_seed(names, text); },
          what + ": a number, or a commit's name")
      ->type_name("SEED")
      ->default_str("1");
}

}  // namespace larder::sim
