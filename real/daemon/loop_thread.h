#pragma once

#include <thread>

#include "real/daemon/stop_signals.h"
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
  // An exception that leaves the loop ends the process through `stop`. `name` is shown by top.
  void start(const char* name, StopSignals& stop);
  // Ends the thread after the handler that it is in.
  void stop();

 private:
  Loop loop_;
  std::thread thread_;
};

}  // namespace larder::real
