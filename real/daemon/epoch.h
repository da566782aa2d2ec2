#pragma once

#include <cstdint>

#include "core/base/error.h"
#include "core/base/id.h"

namespace larder::real {

// The epoch of a master that starts now (design: §4, Ids): the wall clock in milliseconds, but at
// least one more than that of `last` (so that a clock that was set back does no harm), in the upper
// 48 bits; below them 16 bits that tell apart two masters of one millisecond. Errors:
// invalid_params if none comes after `last`.
Result<Epoch> next_epoch(std::uint64_t wall_clock_ms, Epoch last, std::uint16_t random_bits);

std::uint64_t wall_clock_ms();

// An epoch that a peer shows is taken for a master's only if its clock is at most that far ahead of
// this machine's and of this master's own epoch, whichever is later. A clock that was set to local
// time, or to the wrong date line, is less than a day off; what is further off is a broken peer's,
// which must not end a master and stay in its state directory for ever.
inline constexpr std::uint64_t epoch_ahead_ms_max = 24ull * 3600 * 1000;

struct ShownEpoch {
  Epoch shown;
  Epoch own;
  std::uint64_t wall_clock_ms = 0;
};
// Errors: invalid_params, with both and the way out if the epoch is right.
Status check_shown_epoch(const ShownEpoch& epoch);

}  // namespace larder::real
