#pragma once

#include <string_view>
#include <vector>

namespace larder::sim {

// The pieces between the separators, empty ones too. CLI11's own lists take the arguments behind
// them as well, which would swallow TRACE; so a list is one argument here.
inline std::vector<std::string_view> split(std::string_view list, char separator) {
  std::vector<std::string_view> pieces;
  while (true) {
    const std::size_t end = list.find(separator);
    pieces.push_back(list.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    list.remove_prefix(end + 1);
  }
}

}  // namespace larder::sim
