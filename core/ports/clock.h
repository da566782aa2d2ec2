#pragma once

#include "core/base/time.h"
#include "core/ports/completion.h"

namespace larder {

// The process's own clock: monotonic, counting through suspension (CLOCK_BOOTTIME, or a simulated
// host's). Callable from any thread.
class Clock {
 public:
  virtual Time now() const = 0;

 protected:
  ~Clock() = default;
};

class Timers {
 public:
  // Calls completion.complete({}) once `deadline` has passed. One arming for each completion at a
  // time.
  virtual void arm(Time deadline, Completion& completion) = 0;
  // After it returns the completion will not be called any more. No-op if it is not armed.
  virtual void disarm(Completion& completion) noexcept = 0;

 protected:
  ~Timers() = default;
};

}  // namespace larder
