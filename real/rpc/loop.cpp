#include "real/rpc/loop.h"

#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <set>
#include <system_error>
#include <unordered_map>

#include "core/base/assert.h"
#include "real/rpc/asio.h"

namespace larder::real {
namespace {

int make_timer() {
  const int fd = ::timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "timerfd_create");
  return fd;
}

}  // namespace

Time BootClock::now() const {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return Time(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

struct Loop::State {
  struct Entry {
    Time deadline;
    std::uint64_t number;  // orders equal deadlines by their arming
    Completion* completion;
    auto operator<=>(const Entry&) const = default;
  };

  std::set<Entry> entries;
  std::unordered_map<Completion*, Entry> by_completion;
  std::uint64_t next_number = 0;
  Time set_for = time_never;
  bool waiting = false;
  // Last, so that it goes first: the work that it still holds may own alarms, which disarm
  // themselves.
  asio::io_context context{1};
  asio::posix::stream_descriptor timer{context, make_timer()};
  // A context without work stops, and does nothing from then on.
  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(context);

  void program(const Clock& clock) {
    if (entries.empty() || entries.begin()->deadline >= set_for) return;
    set_for = entries.begin()->deadline;
    const auto left =
        std::max<Duration>(set_for.time_since_epoch(), Duration(1));  // zero would disarm it
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    itimerspec when{};
    when.it_value = {.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
    ::timerfd_settime(timer.native_handle(), TFD_TIMER_ABSTIME, &when, nullptr);
    wait(clock);
  }

  void wait(const Clock& clock) {
    if (waiting) return;
    waiting = true;
    timer.async_wait(asio::posix::stream_descriptor::wait_read, [this, &clock](SystemError error) {
      waiting = false;
      if (error) return;
      std::uint64_t expirations = 0;
      [[maybe_unused]] const auto n =
          ::read(timer.native_handle(), &expirations, sizeof(expirations));
      ring(clock);
    });
  }

  void ring(const Clock& clock) {
    set_for = time_never;
    const Time now = clock.now();
    // What is armed meanwhile waits for its own ring, so that this ends.
    const std::uint64_t armed_before = next_number;
    while (!entries.empty() && entries.begin()->deadline <= now &&
           entries.begin()->number < armed_before) {
      Completion* completion = entries.begin()->completion;
      entries.erase(entries.begin());
      by_completion.erase(completion);
      completion->complete({});
    }
    program(clock);
  }
};

Loop::Loop() : state_(std::make_unique<State>()) {}
Loop::~Loop() = default;

boost::asio::io_context& Loop::context() { return state_->context; }

void Loop::run() { state_->context.run(); }

void Loop::run_until(const std::function<bool()>& done, Time until) {
  Alarm wake(*this, [] {});
  if (until != time_never) wake.set(until);
  while (!done() && now() < until && state_->context.run_one() != 0) {
  }
}

void Loop::stop() { state_->context.stop(); }

void Loop::post(std::move_only_function<void()> work) {
  asio::post(state_->context, std::move(work));
}

void Loop::arm(Time deadline, Completion& completion) {
  const State::Entry entry{deadline, state_->next_number++, &completion};
  const bool armed = state_->by_completion.emplace(&completion, entry).second;
  LARDER_ASSERT(armed, "one arming for each completion at a time");
  state_->entries.insert(entry);
  state_->program(clock_);
}

void Loop::disarm(Completion& completion) noexcept {
  const auto found = state_->by_completion.find(&completion);
  if (found == state_->by_completion.end()) return;
  state_->entries.erase(found->second);
  state_->by_completion.erase(found);
}

}  // namespace larder::real
