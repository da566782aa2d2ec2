#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

namespace larder {

// A text for one line of a message, whoever wrote it: what a terminal would obey or not show, line
// ends among it, and bytes that are no UTF-8 stand as \xNN, everything else for itself. Of what
// would be longer than `bytes_max` there is the begin, and then "...". (Keys, which are read back,
// have a form of their own: percent.h.)
std::string printable(std::string_view text,
                      std::size_t bytes_max = std::numeric_limits<std::size_t>::max());

// A word of somebody's input for a message that says what is wrong with it: in quotes, printable,
// and of 60 bytes or so at most, wherever it came from.
std::string in_quotes(std::string_view word);

}  // namespace larder
