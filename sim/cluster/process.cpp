#include "sim/cluster/process.h"

#include "core/base/assert.h"

namespace larder::sim {

namespace {
constexpr std::uint32_t backlog_label = 0xb10;
constexpr std::uint32_t dying_label = 0xb11;
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
  dying_ = false;
  events_to_live_ = 0;
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

// Not from inside what it is doing.
void Process::die_soon() {
  dying_ = true;
  kernel_.post(kernel_.now(), dying_label, [this, life = life_] {
    if (life == life_) crash();
  });
}

void Process::clock_changed() {
  std::vector<HostAlarm*> alarms;
  for (ArmedHook& each : armed_) alarms.push_back(&static_cast<HostAlarm&>(each));
  for (HostAlarm* alarm : alarms) {
    if (alarm->armed()) alarm->arm(alarm->deadline_);
  }
}

void HostAlarm::arm(Time deadline) {
  Process::OverdueHook::unlink();
  Process::ArmedHook::unlink();
  deadline_ = deadline;
  if (deadline != time_never) process_.armed_.push_back(*this);
  process_.kernel().arm(*this, process_.host().clock.when(deadline));
}

void HostAlarm::fire() {
  if (process_.now() < deadline_) return arm(deadline_);  // the clock has become slower
  Process::ArmedHook::unlink();
  if (!process_.alive() || process_.dying_) return;
  if (process_.stopped()) {
    process_.overdue_.push_back(*this);
    return;
  }
  const std::function<void()> action = action_;  // it may destroy this alarm
  Process& process = process_;
  action();
  process.did_something();
}

}  // namespace larder::sim
