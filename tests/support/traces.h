#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace larder {

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
