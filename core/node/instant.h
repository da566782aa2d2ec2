#pragma once

#include "core/base/time.h"

namespace larder {

// `now` + `duration`, or time_never if that is beyond it: durations come from outside.
constexpr Time later(Time now, Duration duration) {
  if (duration <= Duration(0)) return now;
  return time_never - duration > now ? now + duration : time_never;
}

}  // namespace larder
