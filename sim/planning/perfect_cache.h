#pragma once

#include <cstdint>
#include <vector>

#include "core/base/error.h"
#include "workloads/trace.h"

namespace larder::sim {

// A cache that knows the future (Belady), asked for every page of a trace in the trace's order: for
// each page of each request, whether it would have had it. One bit for each page of the trace.
class PerfectCache {
 public:
  struct Rules {
    std::uint32_t page_tokens = 512;  // a multiple of the trace's blocks
    std::uint64_t pages = 0;          // that it holds
  };
  // Reads the trace to its end. Errors: those of the trace, and of pages_of().
  static Result<PerfectCache> of(workloads::TraceReader& trace, const Rules& rules);

  // By the request's place in the trace. Precondition: there is such a page.
  bool had(std::uint64_t request, std::size_t page) const { return had_[begins_[request] + page]; }

 private:
  std::vector<std::size_t> begins_;  // by request
  std::vector<bool> had_;            // by page
};

}  // namespace larder::sim
