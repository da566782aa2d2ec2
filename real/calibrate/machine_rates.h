#pragma once

#include <cstdint>

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "proto/calibration/calibration.h"

namespace larder::real {

// What can be said of a machine without a pool. Each measures for about as long as `time`, on
// threads that end with the call.

// Bytes that all cores together read from memory and write to it in a second, by copying blocks
// that are far larger than the caches. Errors: no_available_handle (there is no memory for that).
Result<Bytes> memory_rate(std::uint32_t cores, Duration time);

// Bytes that one TCP connection over loopback carries in a second, from one thread's memory into
// another's. Errors: unavailable_in_current_status (of the sockets).
Result<Bytes> loopback_rate(Duration time);

// Its processor, memory and kernel; who asks, and when. others_permille stays zero.
CalibratedMachine describe_machine();

}  // namespace larder::real
