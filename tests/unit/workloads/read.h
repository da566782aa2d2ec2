#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "workloads/trace.h"

namespace larder::workloads {

// A request that owns its blocks.
struct OwnedRequest {
  Request request;
  std::vector<BlockId> blocks;
};

inline Result<std::vector<OwnedRequest>> read_all(TraceReader& reader) {
  std::vector<OwnedRequest> all;
  while (true) {
    LARDER_TRY(const Request* request, reader.next());
    if (request == nullptr) return all;
    all.push_back({*request, {request->blocks.begin(), request->blocks.end()}});
  }
}

inline Result<std::vector<OwnedRequest>> read_all(const std::vector<std::filesystem::path>& paths,
                                                  const TraceOptions& options = {}) {
  LARDER_TRY(const auto reader, open_trace(paths, options));
  return read_all(*reader);
}

// The message of the error that reading these ends with, or "read to the end".
inline std::string message_of(const std::vector<std::filesystem::path>& paths,
                              const TraceOptions& options = {}) {
  const auto all = read_all(paths, options);
  return all ? "read to the end" : all.error().message();
}

}  // namespace larder::workloads
