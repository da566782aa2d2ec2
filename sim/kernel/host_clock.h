#pragma once

#include <cstdint>

#include "core/base/time.h"
#include "sim/kernel/instant.h"

namespace larder::sim {

// How a host's clock differs from the world's.
struct ClockError {
  Duration offset{0};                  // what the host shows at the world's beginning
  std::int64_t parts_per_billion = 0;  // faster (or, negative, slower) than the world; above -10^9
};

// The clock of one host: continuous, monotonic, exact to the nanosecond (rounded down). It goes on
// while the host's processes are stopped, as CLOCK_BOOTTIME does.
class HostClock {
 public:
  explicit HostClock(ClockError error);

  Time at(Instant now) const;
  // The first instant at which the clock shows `time` or more; instant_never if that is beyond all
  // instants. At most `now` if it shows that already.
  Instant when(Time time) const;

  // From `now` on the clock runs at this rate. What was armed for an instant that when() gave has
  // to ask again when it fires (a slower clock), and is late at worst (a faster one).
  void set_rate(Instant now, std::int64_t parts_per_billion);
  std::int64_t parts_per_billion() const { return parts_per_billion_; }
  // The clock jumps forward. Precondition: by >= 0.
  void jump(Instant now, Duration by);

 private:
  Instant base_{};  // at this instant the clock showed host_base_
  Time host_base_;
  std::int64_t parts_per_billion_;
};

}  // namespace larder::sim
