#include "workloads/json_problem.h"

namespace larder::workloads {
namespace {

std::string printable(std::string_view piece, std::size_t length_max) {
  const bool cut = piece.size() > length_max;
  std::string text(piece.substr(0, length_max));
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return cut ? text + "..." : text;
}

}  // namespace

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

std::string excerpt(std::string_view piece) { return "'" + printable(piece, 40) + "'"; }

}  // namespace larder::workloads
