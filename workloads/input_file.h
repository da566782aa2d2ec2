#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace larder::workloads {

// A file that is read once, front to back, through a buffer of its own; a pipe will do. Every error
// names the file and, once it is open, the line. Owns the descriptor.
class InputFile {
 public:
  // A directory, a missing file and a forbidden one are errors.
  static Result<InputFile> open(const std::filesystem::path& path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  // The first bytes of the file, up to `count` and to the buffer's 256 KiB, without reading past
  // them. Call it before any line is taken.
  Result<std::string_view> peek(std::size_t count);
  // The next line without its newline, or nothing at the end. The last line needs no newline. Valid
  // until the next call. A line longer than `limit` is an error.
  Result<std::optional<std::string_view>> next_line(std::size_t limit);
  // The whole rest. More than `limit` bytes are an error.
  Result<std::string> rest(std::size_t limit);

  const std::filesystem::path& path() const { return path_; }
  // Of the line that next_line gave last, counted from 1.
  std::uint64_t line() const { return line_; }

 private:
  InputFile(std::filesystem::path path, int descriptor);
  // Reads once more behind what is there; false at the end of the file.
  Result<bool> fill();

  std::filesystem::path path_;
  int descriptor_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // what is read and not given out: [begin_, end_) of buffer_
  std::size_t end_ = 0;
  std::uint64_t line_ = 0;
};

}  // namespace larder::workloads
