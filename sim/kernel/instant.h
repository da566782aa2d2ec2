#pragma once

#include <chrono>
#include <cstdint>

#include "core/base/time.h"

namespace larder::sim {

// The world's own time, which no simulated process can see: they see the clock of their host
// (host_clock.h). A type of its own, so that the two cannot be mixed up.
struct WorldClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<WorldClock, duration>;
  static constexpr bool is_steady = true;
};
using Instant = WorldClock::time_point;

inline constexpr Instant instant_never = Instant::max();

// `at` + `by`, or instant_never where that is beyond it. Precondition: by >= 0.
constexpr Instant later(Instant at, Duration by) {
  return by > instant_never - at ? instant_never : at + by;
}

}  // namespace larder::sim
