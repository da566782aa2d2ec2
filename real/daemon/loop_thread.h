#pragma once

#include <functional>
#include <thread>

#include "core/base/error.h"
#include "real/rpc/loop.h"

namespace larder::real {

// A loop with a thread of its own. What lives on the loop is made before start() and destroyed
// after stop().
class LoopThread {
 public:
  LoopThread() = default;
  ~LoopThread() { stop(); }
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  Loop& loop() { return loop_; }
  // `failed` is called on the thread when an exception has left the loop. `name` is shown by top.
  void start(const char* name, std::move_only_function<void(Error)> failed);
  // Ends the thread after the handler that it is in.
  void stop();

 private:
  Loop loop_;
  std::thread thread_;
};

}  // namespace larder::real
