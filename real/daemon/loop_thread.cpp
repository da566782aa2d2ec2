#include "real/daemon/loop_thread.h"

#include <pthread.h>

#include <exception>

#include "real/system/thread.h"

namespace larder::real {

void LoopThread::start(const char* name, std::move_only_function<void(Error)> failed) {
  thread_ = start_thread(name, [this, name, failed = std::move(failed)]() mutable {
    ::pthread_setname_np(::pthread_self(), name);
    try {
      loop_.run();
    } catch (const std::exception& problem) {
      failed(Error(ErrorCode::internal_error, problem.what()));
    }
  });
}

void LoopThread::stop() {
  if (!thread_.joinable()) return;
  loop_.stop();
  thread_.join();
}

}  // namespace larder::real
