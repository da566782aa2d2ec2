#include "sim/kernel/host_clock.h"

#include "core/base/assert.h"

namespace larder::sim {

namespace {

__extension__ using Wide = __int128;
constexpr std::int64_t billion = 1'000'000'000;

Wide floor_divide(Wide dividend, std::int64_t divisor) {
  const Wide quotient = dividend / divisor;
  return dividend % divisor < 0 ? quotient - 1 : quotient;
}

}  // namespace

HostClock::HostClock(ClockError error)
    : host_base_(Time() + error.offset), parts_per_billion_(error.parts_per_billion) {
  LARDER_ASSERT(parts_per_billion_ > -billion);
}

Time HostClock::at(Instant now) const {
  const Duration elapsed = now - base_;
  if (parts_per_billion_ == 0) return host_base_ + elapsed;
  const Wide gained = floor_divide(Wide{elapsed.count()} * parts_per_billion_, billion);
  return host_base_ + elapsed + Duration(static_cast<Duration::rep>(gained));
}

Instant HostClock::when(Time time) const {
  if (time <= host_base_) return base_;
  if (time == time_never) return instant_never;
  // The first e with floor(e * rate / billion) >= wanted is ceil(wanted * billion / rate).
  const Wide wanted = Wide{time.time_since_epoch().count()} - host_base_.time_since_epoch().count();
  const Wide elapsed = -floor_divide(-wanted * billion, billion + parts_per_billion_);
  const Wide instant = elapsed + base_.time_since_epoch().count();
  if (instant >= instant_never.time_since_epoch().count()) return instant_never;
  return Instant(Duration(static_cast<Duration::rep>(instant)));
}

void HostClock::set_rate(Instant now, std::int64_t parts_per_billion) {
  LARDER_ASSERT(parts_per_billion > -billion);
  host_base_ = at(now);
  base_ = now;
  parts_per_billion_ = parts_per_billion;
}

void HostClock::jump(Instant now, Duration by) {
  LARDER_ASSERT(by >= Duration(0));
  host_base_ = at(now) + by;
  base_ = now;
}

}  // namespace larder::sim
