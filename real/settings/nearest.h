#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace larder::real {

// The candidate that `text` was most likely meant to be: the one from which the fewest letters are
// missing, too many, wrong or exchanged with their neighbour: at most two, and a third of it. The
// first of equals. O(candidates * length²).
std::optional<std::string> nearest(std::string_view text, std::span<const std::string> candidates);

}  // namespace larder::real
