#include "core/base/json_problem.h"

#include <string_view>

#include "core/base/printable.h"

namespace larder {

std::string json_problem(const std::exception& error) {
  std::string_view text = error.what();
  // The parser's text begins with "[json.exception.NAME.NUMBER] ", and then often "parse error at
  // ".
  if (const auto end = text.find("] "); text.starts_with('[') && end != text.npos) {
    text.remove_prefix(end + 2);
  }
  constexpr std::string_view prefix = "parse error at ";
  if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  return printable(text, 240);
}

}  // namespace larder
