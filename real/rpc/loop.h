#pragma once

#include <functional>
#include <memory>

#include "core/ports/clock.h"

namespace boost::asio {
class io_context;
}

namespace larder::real {

// CLOCK_BOOTTIME: monotonic, and counts while the machine is suspended.
class BootClock final : public Clock {
 public:
  Time now() const override;
};

// One thread's event loop. Whatever is made on it (servers, links, transports) and the core objects
// that they drive are confined to the thread that calls run(). Before run() is called, another
// thread may set things up.
class Loop final : public Timers {
 public:
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Serves until stop(). An exception that leaves a handler leaves run() too.
  void run();
  // Serves at most until `until`, or until `done` says so; for tests and command lines.
  void run_until(const std::function<bool()>& done, Time until);
  // From any thread.
  void stop();
  // Runs `work` on the loop, soon. From any thread. What never ran is destroyed with the loop.
  void post(std::move_only_function<void()> work);

  const BootClock& clock() const { return clock_; }
  Time now() const { return clock_.now(); }

  void arm(Time deadline, Completion& completion) override;
  void disarm(Completion& completion) noexcept override;

  boost::asio::io_context& context();

 private:
  struct State;
  BootClock clock_;
  std::unique_ptr<State> state_;
};

// A timer that calls what it was given. Disarmed by its destructor.
class Alarm final : public Completion {
 public:
  Alarm(Loop& loop, std::move_only_function<void()> ring) : loop_(loop), ring_(std::move(ring)) {}
  ~Alarm() { loop_.disarm(*this); }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  // Replaces an earlier setting.
  void set(Time when) {
    loop_.disarm(*this);
    loop_.arm(when, *this);
  }
  void cancel() { loop_.disarm(*this); }

 private:
  void complete(Status) override { ring_(); }

  Loop& loop_;
  std::move_only_function<void()> ring_;
};

}  // namespace larder::real
