#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

// For inputs of several kinds: the first byte says which, the others are the text. What
// LLVMFuzzerTestOneInput returns.
template <class Check>
int check_by_kind(const std::uint8_t* data, std::size_t size, Check&& check) {
  if (size == 0) return 0;
  check(static_cast<char>(data[0]),
        std::string_view(reinterpret_cast<const char*>(data), size).substr(1));
  return 0;
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
