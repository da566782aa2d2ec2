#include "sim/cluster/process.h"

#include "core/base/assert.h"

namespace larder::sim {

namespace {
constexpr std::uint32_t backlog_label = 0xb10;
}  // namespace

void Process::begin_life() {
  LARDER_ASSERT(!alive_);
  alive_ = true;
  stopped_ = false;
  ++life_;
}

void Process::end_life() {
  alive_ = false;
  stopped_ = false;
  backlog_.clear();
  overdue_.clear();
}

void Process::stop() {
  if (!alive_ || stopped_) return;
  stopped_ = true;
  pace_changed();
}

void Process::go_on() {
  if (!std::exchange(stopped_, false)) return;
  // In events of their own, since each may stop or kill the process.
  for (std::function<void()>& work : std::exchange(backlog_, {})) {
    kernel_.post(kernel_.now(), backlog_label, [this, life = life_, work = std::move(work)] {
      if (life == life_) enter(work);
    });
  }
  while (!overdue_.empty()) {
    auto& alarm = static_cast<HostAlarm&>(overdue_.front());
    alarm.arm(alarm.deadline_);
  }
  pace_changed();
}

void HostAlarm::arm(Time deadline) {
  unlink();
  deadline_ = deadline;
  process_.kernel().arm(*this, process_.host().clock.when(deadline));
}

void HostAlarm::fire() {
  if (process_.now() < deadline_) return arm(deadline_);  // the clock has become slower
  if (!process_.alive()) return;
  if (process_.stopped()) {
    process_.overdue_.push_back(*this);
    return;
  }
  const std::function<void()> action = action_;  // it may destroy this alarm
  action();
}

}  // namespace larder::sim
