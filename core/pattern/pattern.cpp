#include "core/pattern/pattern.h"

#include <re2/re2.h>

#include "core/base/percent.h"
#include "core/protocol/limits.h"

namespace larder {
namespace {

// What a compiled pattern may take; ordinary ones take some KiB of it.
constexpr std::int64_t compiled_bytes_max = std::int64_t{1} << 20;

std::unexpected<Error> no_glob(std::string_view glob, std::size_t place, std::string_view what) {
  return failed(ErrorCode::invalid_params,
                "the pattern '" + percent_escaped(glob) + "' is none: the '" +
                    percent_escaped(glob.substr(place, 1)) + "' at position " +
                    std::to_string(place) + " " + std::string(what));
}

// One byte, outside of brackets or inside, standing for itself.
void add_byte(char c, std::string& regex) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto byte = static_cast<std::uint8_t>(c);
  regex += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
}

// A byte of a glob that may be escaped; `at` moves behind it.
Result<char> take_byte(std::string_view glob, std::size_t& at) {
  if (glob[at] != '\\') return glob[at++];
  if (at + 1 == glob.size()) return no_glob(glob, at, "escapes nothing");
  at += 2;
  return glob[at - 1];
}

// From behind a '[' to behind its ']'.
Status add_class(std::string_view glob, std::size_t& at, std::string& regex) {
  const std::size_t open = at - 1;
  regex += '[';
  if (at < glob.size() && (glob[at] == '^' || glob[at] == '!')) {
    regex += '^';
    ++at;
  }
  const std::size_t first = at;
  while (at < glob.size() && glob[at] != ']') {
    LARDER_TRY(const char low, take_byte(glob, at));
    add_byte(low, regex);
    if (at + 1 >= glob.size() || glob[at] != '-' || glob[at + 1] == ']') continue;
    const std::size_t dash = at++;
    LARDER_TRY(const char high, take_byte(glob, at));
    if (static_cast<std::uint8_t>(high) < static_cast<std::uint8_t>(low)) {
      return no_glob(glob, dash, "makes a range that ends before it begins");
    }
    regex += '-';
    add_byte(high, regex);
  }
  if (at >= glob.size()) return no_glob(glob, open, "is not closed");
  if (at == first) return no_glob(glob, open, "has nothing in it");
  regex += ']';
  ++at;
  return {};
}

}  // namespace

Pattern::Pattern(std::unique_ptr<re2::RE2> compiled) : compiled_(std::move(compiled)) {}
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

Result<Pattern> Pattern::make(std::string_view regex) {
  if (regex.size() > pattern_bytes_max) {
    return failed(ErrorCode::invalid_params, "the pattern has " + std::to_string(regex.size()) +
                                                 " bytes; at most " +
                                                 std::to_string(pattern_bytes_max));
  }
  re2::RE2::Options options;
  options.set_encoding(re2::RE2::Options::EncodingLatin1);
  options.set_dot_nl(true);
  options.set_log_errors(false);
  options.set_never_capture(true);
  options.set_max_mem(compiled_bytes_max);
  auto compiled = std::make_unique<re2::RE2>(re2::StringPiece(regex.data(), regex.size()), options);
  if (!compiled->ok()) {
    return failed(ErrorCode::invalid_params,
                  "the pattern '" + percent_escaped(regex) +
                      "' is no regular expression: " + percent_escaped(compiled->error()));
  }
  return Pattern(std::move(compiled));
}

bool Pattern::matches(std::string_view text) const {
  return compiled_->Match(re2::StringPiece(text.data(), text.size()), 0, text.size(),
                          re2::RE2::UNANCHORED, nullptr, 0);
}

Result<std::string> regex_of_glob(std::string_view glob) {
  std::string regex = "^";
  for (std::size_t at = 0; at < glob.size();) {
    const char c = glob[at];
    if (c == '*' || c == '?') {
      // Several stars in a row say no more than one.
      if (c == '?') regex += '.';
      if (c == '*' && !regex.ends_with(".*")) regex += ".*";
      ++at;
    } else if (c == '[') {
      LARDER_CHECK(add_class(glob, ++at, regex));
    } else {
      LARDER_TRY(const char byte, take_byte(glob, at));
      const bool plain = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
                         (byte >= 'A' && byte <= 'Z') || byte == '/' || byte == '_';
      if (plain) {
        regex += byte;
      } else {
        add_byte(byte, regex);
      }
    }
  }
  return regex + "$";
}

}  // namespace larder
