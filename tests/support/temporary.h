#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace larder {

// A directory of the running test alone, removed at its end.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "larder-test-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path file(std::string_view name, std::string_view content) const {
    const std::filesystem::path path = path_ / name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

 private:
  std::filesystem::path path_;
};

// Where the published traces are, or an empty path.
inline std::filesystem::path published_traces() {
  const char* directory = std::getenv("LARDER_TRACES");
  return directory == nullptr ? "" : directory;
}

}  // namespace larder

#define LARDER_NEEDS_PUBLISHED_TRACES()                                                            \
  if (::larder::published_traces().empty()) {                                                      \
    GTEST_SKIP() << "set LARDER_TRACES to the directory of conversation_trace.jsonl and agentic/"; \
  }                                                                                                \
  static_cast<void>(0)
