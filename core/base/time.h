#pragma once

#include <chrono>
#include <cstdint>

namespace larder {

using Duration = std::chrono::nanoseconds;

// The clock of one process: a boot-time clock in real/, the virtual clock of one host in sim/. It
// is only a tag, since nothing in core may read a clock. Instants of two processes must never meet:
// what crosses a process border is a Duration, counted by the receiver from before it asked.
struct ProcessClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<ProcessClock, duration>;
  static constexpr bool is_steady = true;
};
using Time = ProcessClock::time_point;

inline constexpr Time time_never = Time::max();

// `now` + `duration`, or time_never if that is beyond it: durations come from outside.
constexpr Time later(Time now, Duration duration) {
  if (duration <= Duration(0)) return now;
  return time_never - duration > now ? now + duration : time_never;
}

}  // namespace larder
