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

}  // namespace larder::real
