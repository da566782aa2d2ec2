#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "core/base/error.h"
#include "workloads/request.h"

namespace larder::workloads {

// A trace, read one request after the other. Confined to one thread.
class TraceReader {
 public:
  virtual ~TraceReader() = default;
  // The next request, in order of arrival, or nullptr at the end. It and its blocks live until the
  // next call. A bad trace is an error that names file, line or place, and what is wrong there; it
  // comes only when the reader reaches that place, and reading must stop then.
  virtual Result<const Request*> next() = 0;
};

enum class TraceFormat : std::uint8_t {
  mooncake,  // workloads/mooncake.h
  agentic,   // workloads/agentic.h
};
std::string_view format_name(TraceFormat format);
// The format of that name, if there is one.
std::optional<TraceFormat> format_named(std::string_view name);

struct TraceOptions {
  // Without one, the content decides: which of the formats' field names comes first in the first
  // 4 KiB. Where none does, the extension (.jsonl is mooncake, .json is agentic) decides. A
  // directory, and several files, are agentic.
  std::optional<TraceFormat> format;
  // Tokens in a block of a mooncake trace, which does not say it. An agentic trace does.
  std::uint32_t block_tokens = 512;
};

// Opens one trace: a mooncake file, or any number of agentic session files, where a directory
// stands for all of its *.json files in order of name. A mooncake trace is streamed, so its memory
// is that of its longest line; agentic sessions are read whole.
Result<std::unique_ptr<TraceReader>> open_trace(std::span<const std::filesystem::path> paths,
                                                const TraceOptions& options = {});

// That no request of a trace is left to be counted, in a sentence.
std::string all_is_warmup(std::uint64_t warmup_requests, std::uint64_t requests);

}  // namespace larder::workloads
