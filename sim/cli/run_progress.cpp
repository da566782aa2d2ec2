#include "sim/cli/run_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "terminal/output.h"

namespace larder::sim {

std::string time_left(std::chrono::steady_clock::time_point begin, double share) {
  if (share <= 0) return "";
  const double spent =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return terminal::as_time(spent * (1 - share) / share) + " left";
}

RunProgress::RunProgress(const TraceArguments& trace, std::uint64_t requests_max)
    : bar_({.title = "simulated"}), begin_(std::chrono::steady_clock::now()) {
  if (!bar_.visible()) return;
  expected_ = trace.count_requests(requests_max > 0 ? requests_max
                                                    : std::numeric_limits<std::uint64_t>::max());
}

void RunProgress::show(std::uint64_t ended) {
  if (!expected_) return;
  const double share =
      static_cast<double>(ended) / static_cast<double>(std::max<std::uint64_t>(1, *expected_));
  bar_.show(share, fmt::format("{} of {} requests, {}", terminal::with_thousands(ended),
                               terminal::with_thousands(*expected_), time_left(begin_, share)));
}

}  // namespace larder::sim
