#pragma once

#include <cstddef>
#include <string>

#include "core/base/error.h"

namespace larder::sim {

inline constexpr std::size_t text_file_bytes_max = std::size_t{16} << 20;

// All of a file that a person names. Errors name the path and why: file_not_found, file_open_fail
// (a directory, forbidden), file_read_fail, bad_file (larger than `bytes_max`, or endless).
Result<std::string> read_text_file(const std::string& path,
                                   std::size_t bytes_max = text_file_bytes_max);

// Errors: file_write_fail with the path and why.
Status write_text_file(const std::string& path, const std::string& text);

}  // namespace larder::sim
