#pragma once

#include <functional>
#include <memory>

#include "real/rpc/endpoint.h"
#include "real/rpc/handshake.h"
#include "real/rpc/loop.h"
#include "real/rpc/socket.h"

namespace larder::real {

struct DialTarget {
  Endpoint endpoint;
  Role role = Role::control;
  std::string who;  // tells the other side, for its logs, who calls
};

// One attempt to connect: resolves, connects, shakes hands. Calls `done` once, from the loop,
// unless it is destroyed before. Errors, with the endpoint: rpc_fail (not reached, or refused, and
// why), invalid_version.
class Dial {
 public:
  Dial(Loop& loop, DialTarget target, Time deadline,
       std::move_only_function<void(Result<Socket>)> done);
  ~Dial();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace larder::real
