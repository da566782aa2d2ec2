#pragma once

#include <cstddef>
#include <memory>

#include "core/base/error.h"
#include "core/base/time.h"
#include "real/rpc/endpoint.h"
#include "real/rpc/handshake.h"
#include "real/rpc/loop.h"
#include "real/rpc/socket.h"

namespace larder::real {

// Takes over connections whose handshake is done. Called on the listener's loop.
class Doors {
 public:
  // False: this process has no such door; the peer is told so.
  virtual bool serves(Role role) const = 0;
  virtual void enter(Role role, Socket socket, Hello hello) = 0;

 protected:
  ~Doors() = default;
};

struct ListenerConfig {
  Endpoint endpoint;                                      // port 0: any free one
  Duration handshake_deadline = std::chrono::seconds(5);  // a peer that says nothing goes
  std::size_t handshakes_max = 1024;                      // at once; more are closed
};

// The one listening port of a process. Whoever does not begin with a good handshake is closed, with
// at most one line in the log for each second.
class Listener {
 public:
  // Binds and listens at once, so that the port is known. Errors: rpc_fail with the endpoint (in
  // use: says how to have a free one).
  static Result<std::unique_ptr<Listener>> make(Loop& loop, ListenerConfig config, Doors& doors);
  ~Listener();  // closes the port; connections that have entered stay

  Endpoint endpoint() const;  // with the port that was bound

 private:
  struct State;
  explicit Listener(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace larder::real
