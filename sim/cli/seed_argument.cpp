#include "sim/cli/seed_argument.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>
#include <string_view>

#include "core/base/printable.h"
#include "terminal/arguments.h"
#include "terminal/command.h"

namespace larder::sim {
namespace {

Status parse_seed(const std::string& text, std::uint64_t& seed) {
  if (terminal::parse_number(text, seed)) return {};
  const std::string_view digits = std::string_view(text).substr(0, 16);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seed, 16);
  const bool hexadecimal = std::ranges::all_of(
      text, [](char each) { return std::isxdigit(static_cast<unsigned char>(each)) != 0; });
  if (error != std::errc() || end != digits.data() + digits.size() || !hexadecimal) {
    return failed(ErrorCode::invalid_params,
                  in_quotes(text) + " is neither a number nor a commit's name");
  }
  return {};
}

}  // namespace

terminal::Option add_seed(terminal::Command command, const std::string& names, std::uint64_t& seed,
                          const std::string& what) {
  return command
      .add_parsed(
          names, [&seed](const std::string& text) { return parse_seed(text, seed); },
          what + ": a number, or a commit's name")
      .type_name("SEED")
      .default_str("1");
}

}  // namespace larder::sim
