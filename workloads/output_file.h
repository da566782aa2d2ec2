#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace larder::workloads {

// A file that is there whole or not at all: what is written goes to a temporary file beside it,
// which takes its name in commit(). Without a commit, what was at the path before stays as it was.
// (A pipe or a device, such as /dev/stdout, is written to directly.) Errors name the path.
class OutputFile {
 public:
  static Result<OutputFile> create(const std::filesystem::path& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  // Buffered; so a full disk may show only later, at the latest in commit().
  Status write(std::string_view text);
  // Writes the rest to the disk and gives the file its name. To be called once, as the last thing.
  Status commit();

 private:
  OutputFile(std::filesystem::path path, std::filesystem::path temporary, int descriptor);
  Status flush();
  std::unexpected<Error> failure(std::string_view what) const;

  std::filesystem::path path_;
  std::filesystem::path temporary_;  // empty: written directly
  int descriptor_;
  std::string buffer_;
};

}  // namespace larder::workloads
