#include "core/client/rules.h"

#include <algorithm>

#include "core/protocol/limits.h"

namespace larder {

using std::chrono::milliseconds;

Time lease_deadline(Time asked, Duration lease) {
  const Duration promised = lease - lease / 100 - milliseconds(2);
  return asked + std::max(promised, Duration(0));
}

Duration retry_delay(std::uint32_t attempt, double jitter) {
  const Duration longest =
      std::min<Duration>(milliseconds(10) * (1 << std::min(attempt, 6u)), milliseconds(500));
  return longest / 2 +
         Duration(static_cast<Duration::rep>(static_cast<double>((longest / 2).count()) * jitter));
}

bool is_repeatable(ErrorCode code) {
  return code == ErrorCode::client_not_found || code == ErrorCode::busy ||
         code == ErrorCode::unavailable_in_current_status || code == ErrorCode::epoch_superseded;
}

std::optional<std::size_t> choose_replica(std::span<const ReplicaCandidate> candidates,
                                          std::uint64_t spread) {
  for (const bool only_local : {true, false}) {
    const auto fits = [&](const ReplicaCandidate& candidate) {
      return candidate.usable && (candidate.local || !only_local);
    };
    const auto count = static_cast<std::size_t>(std::ranges::count_if(candidates, fits));
    if (count == 0) continue;
    std::size_t skip = spread % count;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (fits(candidates[i]) && skip-- == 0) return i;
    }
  }
  return std::nullopt;
}

NextStep next_step(const ReadProgress& progress) {
  if (progress.now >= progress.deadline) return NextStep::give_up;
  if (progress.usable_replicas > 0 && progress.now < progress.lease_deadline) {
    return NextStep::next_replica;
  }
  return progress.times_asked < 2 ? NextStep::ask_again : NextStep::give_up;
}

Time transfer_deadline(const TransferTerms& terms) {
  if (terms.deadline <= terms.now) return terms.deadline;
  const Duration left = terms.deadline - terms.now;
  const Duration at_50_mb_s(static_cast<Duration::rep>(terms.bytes.value * 20));
  return terms.now + std::clamp(terms.patience + at_50_mb_s, left / 2, left - left / 4);
}

}  // namespace larder
