#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace larder::workloads {

// A file that is there whole or not at all: what is written goes to a file without a name, which
// gets one in commit(). Without a commit, what was at the path before stays as it was, and nothing
// is beside it, however the process ends. (Where the file system has no files without a name, as
// NFS, there is a temporary file, which a process that is killed leaves. A pipe or a device, such
// as /dev/stdout, is written to directly.) Errors name the path.
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
  // Where the bytes go until commit().
  enum class Kind : std::uint8_t { direct, nameless, temporary };
  OutputFile(std::filesystem::path path, Kind kind, std::filesystem::path temporary,
             int descriptor);
  static Result<OutputFile> create_beside(const std::filesystem::path& path);
  Status flush();
  Status give_name();
  std::unexpected<Error> failure(std::string_view what) const;

  std::filesystem::path path_;
  Kind kind_;
  std::filesystem::path temporary_;  // empty: there is no such file
  int descriptor_;
  std::string buffer_;
};

}  // namespace larder::workloads
