#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/ports/clock.h"
#include "sim/fabric/host.h"
#include "sim/kernel/host_clock.h"
#include "sim/kernel/kernel.h"

namespace larder::sim {

struct Host {
  HostId id;
  std::string name;
  HostClock clock;
};

class HostAlarm;
class Observer;

// A place where a process runs, life after life. It is dead, runs, or is stopped (as by SIGSTOP, or
// a pause of its machine): a stopped one does nothing until it goes on, while its host's clock and
// what needs no process (one-sided transfers) go on.
class Process : public Clock {
 public:
  Process(Kernel& kernel, Host& host, Observer& observer)
      : kernel_(kernel), host_(host), observer_(observer) {}
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  Host& host() { return host_; }
  Kernel& kernel() { return kernel_; }
  Observer& observer() const { return observer_; }
  Time now() const override { return host_.clock.at(kernel_.now()); }

  bool alive() const { return alive_; }
  bool stopped() const { return stopped_; }
  std::uint64_t life() const { return life_; }  // counts its starts
  void stop();
  void go_on();
  // Precondition: not alive.
  virtual void start() = 0;
  // Nobody hears of it but by what it stops doing. Nothing happens if it is not alive.
  virtual void crash() = 0;
  // Its host's clock jumped, or runs at another rate: what is to happen at a time is due at another
  // instant.
  void clock_changed();
  // It dies when it has done `events` more things: whatever it would do next, it does not. Zero: it
  // does not die after all.
  void crash_after(std::uint64_t events) { events_to_live_ = events; }

  // Does `work` in the process: now; when it goes on; or never, if it dies before.
  template <class Work>
  void enter(Work&& work) {
    if (!alive_ || dying_) return;
    if (stopped_) {
      backlog_.emplace_back(std::forward<Work>(work));
    } else {
      work();
      did_something();
    }
  }

 protected:
  virtual ~Process() = default;
  void begin_life();
  void end_life();

 private:
  friend class HostAlarm;
  struct ArmedTag;
  struct OverdueTag;
  template <class Tag>
  using Hook =
      boost::intrusive::list_base_hook<boost::intrusive::tag<Tag>,
                                       boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
  using ArmedHook = Hook<ArmedTag>;
  using OverdueHook = Hook<OverdueTag>;
  template <class Item, class Tag>
  using ListOf = boost::intrusive::list<Item, boost::intrusive::base_hook<Hook<Tag>>,
                                        boost::intrusive::constant_time_size<false>>;

  // It was stopped or goes on.
  virtual void pace_changed() {}
  void did_something() {
    if (events_to_live_ > 0 && --events_to_live_ == 0) die_soon();
  }
  void die_soon();

  Kernel& kernel_;
  Host& host_;
  Observer& observer_;
  bool alive_ = false;
  bool stopped_ = false;
  bool dying_ = false;
  std::uint64_t events_to_live_ = 0;  // zero: no end is set
  std::uint64_t life_ = 0;
  std::vector<std::function<void()>> backlog_;
  ListOf<ArmedHook, ArmedTag> armed_;
  // Alarms that fired while it was stopped. Not part of the backlog, since they can be disarmed or
  // destroyed by what comes before them when it goes on.
  ListOf<OverdueHook, OverdueTag> overdue_;
};

// Does something in a process once its host's clock shows a time. Destroying it disarms it.
class HostAlarm final : private Event, private Process::ArmedHook, private Process::OverdueHook {
 public:
  HostAlarm(Process& process, std::uint32_t label, std::function<void()> action)
      : Event(label), process_(process), action_(std::move(action)) {}

  // time_never: disarms it.
  void arm(Time deadline);
  void arm_in(Duration delay) { arm(process_.now() + delay); }
  void disarm() { arm(time_never); }
  using Event::armed;

 private:
  friend class Process;
  void fire() override;

  Process& process_;
  std::function<void()> action_;
  Time deadline_ = time_never;
};

}  // namespace larder::sim
