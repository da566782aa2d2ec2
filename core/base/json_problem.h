#pragma once

#include <exception>
#include <string>

namespace larder {

// What the JSON parser says is wrong, for one line of a message: "column 12: syntax error ...",
// with "line L, " before it where the text has several lines.
std::string json_problem(const std::exception& error);

}  // namespace larder
