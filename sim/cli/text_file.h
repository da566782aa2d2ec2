#pragma once

#include <string>

#include "core/base/error.h"

namespace larder::sim {

// All of a file that a person names. Errors: file_open_fail with the path and why (no such file, a
// directory), file_read_fail.
Result<std::string> read_text_file(const std::string& path);

// Errors: file_write_fail with the path and why.
Status write_text_file(const std::string& path, const std::string& text);

}  // namespace larder::sim
