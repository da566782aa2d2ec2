#pragma once

#include <memory>

#include "core/base/error.h"
#include "real/rpc/endpoint.h"
#include "real/rpc/guests.h"
#include "real/rpc/loop.h"

namespace larder::real {

struct ListenerConfig {
  Endpoint endpoint;  // port 0: any free one
  GuestsConfig guests;
};

// The one listening port of a process. What it accepts is a guest until its handshake is done.
// Where the process has no descriptor left, the guest that came first makes way.
class Listener {
 public:
  // Binds and listens at once, so that the port is known. Errors: rpc_fail with the endpoint (in
  // use: says how to have a free one).
  static Result<std::unique_ptr<Listener>> make(Loop& loop, ListenerConfig config, Doors& doors);
  ~Listener();  // closes the port and all guests; connections that have entered stay

  Endpoint endpoint() const;  // with the port that was bound
  const Guests& guests() const;

 private:
  struct State;
  explicit Listener(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace larder::real
