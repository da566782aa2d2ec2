#pragma once

#include "core/base/error.h"

namespace larder {

// What a started operation reports to. Called exactly once, never from inside the call that started
// the operation, on the strand of whoever started it. The callee may be destroyed by the call.
class Completion {
 public:
  virtual void complete(Status status) = 0;

 protected:
  ~Completion() = default;
};

}  // namespace larder
