#include "real/daemon/stop_signals.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <optional>
#include <system_error>

namespace larder::real {

struct StopSignals::State {
  int signals = -1;
  int failures = -1;
  std::mutex mutex;
  std::optional<Error> error;

  bool comes(int timeout_ms) const;
};

StopSignals::StopSignals() : state_(new State) {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTERM);
  ::sigaddset(&set, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  state_->signals = ::signalfd(-1, &set, SFD_CLOEXEC);
  state_->failures = ::eventfd(0, EFD_CLOEXEC);
  if (state_->signals < 0 || state_->failures < 0) {
    throw std::system_error(errno, std::generic_category(), "signalfd");
  }
}

StopSignals::~StopSignals() {
  ::close(state_->signals);
  ::close(state_->failures);
  delete state_;
}

// Whether anything has come within the time; -1: without end.
bool StopSignals::State::comes(int timeout_ms) const {
  std::array<pollfd, 2> events{pollfd{.fd = signals, .events = POLLIN, .revents = 0},
                               pollfd{.fd = failures, .events = POLLIN, .revents = 0}};
  int ready = 0;
  while ((ready = ::poll(events.data(), events.size(), timeout_ms)) < 0) {
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "poll");
  }
  return ready > 0;
}

bool StopSignals::stopping() const { return state_->comes(0); }

Status StopSignals::wait() {
  state_->comes(-1);
  const std::lock_guard lock(state_->mutex);
  if (state_->error) return std::unexpected(*state_->error);
  return {};
}

void StopSignals::fail(Error error) {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->error) return;
    state_->error = std::move(error);
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(state_->failures, &one, sizeof(one));
}

}  // namespace larder::real
