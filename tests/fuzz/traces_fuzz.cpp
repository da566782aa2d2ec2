#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/assert.h"
#include "tests/fuzzing/checks.h"
#include "workloads/lockstep/record.h"
#include "workloads/mooncake.h"
#include "workloads/trace.h"

// Files of requests and of results. The first byte chooses the format, or that the content decides;
// the rest is the file. Whatever a reader gives out keeps the rules of its format's header, what it
// refuses is refused in one printable line, and what is written of it is read as the same.

namespace larder::workloads {
namespace {

FuzzedFile& file() {
  static FuzzedFile one;
  return one;
}

// As much of the trace as can be read, in mooncake's format, the only one that is written.
std::string read_and_write(std::string_view content, const TraceOptions& options, bool& whole) {
  file().fill(content);
  const std::array paths{file().path()};
  const auto reader = open_trace(paths, options);
  whole = false;
  if (!reader) {
    check_refusal(reader.error());
    return {};
  }
  std::string written;
  Duration last{0};
  while (true) {
    const auto next = (*reader)->next();
    if (!next) {
      check_refusal(next.error());
      return written;
    }
    const Request* request = *next;
    whole = request == nullptr;
    if (whole) return written;
    LARDER_ASSERT(request->arrival >= last, "requests come in the order of their arrival");
    LARDER_ASSERT(request->block_tokens > 0);
    last = request->arrival;
    const std::uint64_t tokens = request->input_tokens;
    const std::uint64_t full = tokens / request->block_tokens;
    const std::uint64_t any = full + (tokens % request->block_tokens != 0);
    LARDER_ASSERT(request->blocks.size() == full || request->blocks.size() == any,
                  "a block has an id");
    written += mooncake_line(*request);
  }
}

void check_trace(std::string_view content, const TraceOptions& options) {
  bool whole = false;
  const std::string written = read_and_write(content, options, whole);
  const bool mooncake = options.format == TraceFormat::mooncake;
  if (!mooncake || written.empty()) return;
  const std::string again = read_and_write(written, options, whole);
  LARDER_ASSERT(whole && again == written, "what was written is read as the same");
}

void check_record(std::string_view content) {
  file().fill(content);
  const auto record = read_record(file().path());
  if (!record) return check_refusal(record.error());
  const std::string written = to_json(*record);
  file().fill(written);
  const auto again = read_record(file().path());
  LARDER_ASSERT(again.has_value(), "what was accepted is accepted again");
  LARDER_ASSERT(to_json(*again) == written, "and means the same");
}

void check(std::uint8_t kind, std::string_view content) {
  switch (kind % 4) {
    case 0:
      return check_trace(content, {.format = TraceFormat::mooncake, .block_tokens = 16});
    case 1:
      return check_trace(content, {.format = TraceFormat::agentic});
    case 2:
      return check_trace(content, {});
    default:
      return check_record(content);
  }
}

}  // namespace
}  // namespace larder::workloads

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  larder::workloads::check(data[0], {reinterpret_cast<const char*>(data + 1), size - 1});
  return 0;
}
