#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace larder::workloads {

// What the JSON parser says is wrong, for one line of a message: "column 12: syntax error ...",
// with "line L, " before it where the text has several lines.
std::string json_problem(const std::exception& error);
// A piece of somebody's file, made fit for a message: printable and not long.
std::string excerpt(std::string_view piece);

}  // namespace larder::workloads
