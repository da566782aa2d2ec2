#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/base/assert.h"
#include "core/base/error.h"
#include "core/base/printable.h"

// What all targets that read files and texts check, and need for it.

namespace larder {

// One printable line of bounded length.
inline void check_line(std::string_view text) {
  LARDER_ASSERT(text.size() <= 2500, "a message is bounded");
  LARDER_ASSERT(printable(text) == text, "and is one printable line");
}
inline void check_refusal(const Error& error) { check_line(error.message()); }
inline void check_refusal(const Error& error, ErrorCode code) {
  LARDER_ASSERT(error.code() == code);
  check_refusal(error);
}

// One file without a disk, with a new content each time.
class FuzzedFile {
 public:
  FuzzedFile() : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    LARDER_ASSERT(descriptor_ >= 0);
  }
  FuzzedFile(const FuzzedFile&) = delete;
  FuzzedFile& operator=(const FuzzedFile&) = delete;
  ~FuzzedFile() { ::close(descriptor_); }

  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }
  void fill(std::string_view content) {
    const bool filled = ::ftruncate(descriptor_, 0) == 0 &&
                        ::pwrite(descriptor_, content.data(), content.size(), 0) ==
                            static_cast<ssize_t>(content.size());
    LARDER_ASSERT(filled);
  }

 private:
  int descriptor_;
};

}  // namespace larder
