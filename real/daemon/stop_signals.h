#pragma once

#include "core/base/error.h"

namespace larder::real {

// How a process of several threads learns that it is to end: SIGTERM and SIGINT, or a thread that
// cannot go on. Make it before any other thread, since threads inherit the blocked signals.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Waits for one of both. OK: a signal came.
  Status wait();
  // Whether wait() would return at once.
  bool stopping() const;
  // From any thread; the first one counts.
  void fail(Error error);

 private:
  struct State;
  State* state_;
};

}  // namespace larder::real
