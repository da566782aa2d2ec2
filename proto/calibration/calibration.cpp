#include "proto/calibration/calibration.h"

#include <algorithm>

#include "core/base/assert.h"
#include "core/base/size_text.h"

namespace larder {

Figure figure_of(std::vector<std::uint64_t> numbers) {
  LARDER_ASSERT(!numbers.empty());
  std::ranges::sort(numbers);
  return {
      .value = numbers[(numbers.size() - 1) / 2], .low = numbers.front(), .high = numbers.back()};
}

WorkloadRun summary(const std::vector<TimedCall>& calls, Bytes of_a_call, Duration time) {
  WorkloadRun run{.time = time};
  double share = 0;
  std::vector<Duration> took;
  for (const auto& [begin, end] : calls) {
    const Duration within = std::min(end, time) - std::max(begin, Duration(0));
    if (within <= Duration(0)) continue;
    share += static_cast<double>(within.count()) / static_cast<double>((end - begin).count());
    if (begin >= Duration(0)) took.push_back(end - begin);
  }
  run.calls = took.size();
  run.moved = {static_cast<std::uint64_t>(share * static_cast<double>(of_a_call.value) + 0.5)};
  if (took.empty()) return run;
  std::ranges::sort(took);
  const auto quantile = [&](std::size_t percent) {
    return took[std::min(took.size() * percent / 100, took.size() - 1)];
  };
  run.p50 = quantile(50);
  run.p99 = quantile(99);
  return run;
}

const CallCosts* CalibratedCosts::find(CalibratedTransport transport) const {
  const auto found = std::ranges::find(transports, transport, &TransportCosts::transport);
  return found == transports.end() ? nullptr : &found->costs;
}

std::string to_string(const Workload& workload) {
  const auto name = [](const auto& names, auto value) {
    return std::string(
        std::ranges::find_if(names, [&](const auto& each) { return each.second == value; })->first);
  };
  return name(transport_names, workload.transport) + " " +
         name(operation_names, workload.operation) + " " + size_text(workload.size) + ", " +
         std::to_string(workload.clients) + " x " + std::to_string(workload.batch);
}

}  // namespace larder
