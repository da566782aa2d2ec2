#pragma once

#include "core/base/error.h"
#include "core/base/time.h"
#include "core/ports/task.h"
#include "core/protocol/answer.h"
#include "core/protocol/request.h"

namespace larder {

// The way to the master. Finds it, connects again, and sends a request once more on a new
// connection while its deadline lasts (the master answers a repeated one as the first time).
class MasterLink {
 public:
  // `request` and its texts must live until the task ends or is destroyed. Errors: rpc_timeout past
  // the deadline; rpc_fail if the master cannot be reached, with its endpoint; invalid_version.
  virtual Task<Result<Reply>> call(const Request& request, Time deadline) = 0;

 protected:
  ~MasterLink() = default;
};

}  // namespace larder
