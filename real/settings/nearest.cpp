#include "real/settings/nearest.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace larder::real {
namespace {

constexpr std::size_t length_max = 100;  // nothing that long is a misspelled name
constexpr std::size_t slips_max = 2;

// Optimal string alignment: the table's row i, column j is the distance of the first i and j
// letters.
std::size_t distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> table((a.size() + 1) * width);
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      const auto at = [&](std::size_t up, std::size_t left) -> std::size_t& {
        return table[(i - up) * width + j - left];
      };
      if (i == 0 || j == 0) {
        at(0, 0) = i + j;
        continue;
      }
      const std::size_t wrong = a[i - 1] == b[j - 1] ? 0 : 1;
      at(0, 0) = std::min({at(1, 0) + 1, at(0, 1) + 1, at(1, 1) + wrong});
      const bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) at(0, 0) = std::min(at(0, 0), at(2, 2) + 1);
    }
  }
  return table.back();
}

}  // namespace

std::optional<std::string> nearest(std::string_view text, std::span<const std::string> candidates) {
  if (text.size() > length_max) return std::nullopt;
  std::optional<std::string> best;
  std::size_t least = 0;
  for (const std::string& candidate : candidates) {
    const std::size_t far = distance(text, candidate);
    if (far > slips_max || 3 * far > candidate.size() || (best && far >= least)) continue;
    best = candidate;
    least = far;
  }
  return best;
}

}  // namespace larder::real
