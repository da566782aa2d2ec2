#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace re2 {
class RE2;
}

namespace larder {

// A regular expression over the bytes of keys, in RE2's syntax
// (https://github.com/google/re2/wiki/Syntax). It takes time linear in the text for every pattern
// and bounded memory, so a pattern that comes from outside can hold up nobody. `.` is any one byte,
// also a newline; there is no notion of characters of several bytes, since keys need not be UTF-8.
// A pattern is found anywhere in the text unless it is anchored with ^ and $.
class Pattern {
 public:
  // INVALID_PARAMS, with what is wrong and where, for what is no regular expression, or is too long
  // (pattern_bytes_max) or too large when compiled.
  static Result<Pattern> make(std::string_view regex);
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

  bool matches(std::string_view text) const;

 private:
  explicit Pattern(std::unique_ptr<re2::RE2> compiled);
  std::unique_ptr<re2::RE2> compiled_;
};

// The regular expression, anchored, that says the same as a glob: `*` any bytes, `?` one byte,
// [abc], [a-z] and [^a] one of (or none of) these, `\` takes the next byte as it is. `/` is a byte
// like others. INVALID_PARAMS, with the place, for a [ that is not closed or is empty, a range
// whose end comes before its begin, and a \ at the end.
Result<std::string> regex_of_glob(std::string_view glob);

}  // namespace larder
