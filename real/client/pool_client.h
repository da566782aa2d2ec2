#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "core/client/client.h"
#include "real/rpc/endpoint.h"
#include "real/rpc/loop.h"

namespace larder::real {

struct PoolClientConfig {
  Endpoint master{.host = "127.0.0.1", .port = 7700};
  std::string tenant = "default";
  std::string name;  // for people; empty: the process's id
};

// The core's client on sockets, for one thread that waits for each call. Its session is renewed
// while a call runs, and ended by the destructor if the master answers within a moment.
class PoolClient {
 public:
  explicit PoolClient(PoolClientConfig config);
  ~PoolClient();
  PoolClient(const PoolClient&) = delete;
  PoolClient& operator=(const PoolClient&) = delete;

  Client& client() const;
  const Clock& clock() const;

  // Runs one call to its end.
  template <class T>
  T run(Task<T> task) {
    task.start();
    serve_until([&] { return task.done(); });
    return std::move(task.result());
  }

 private:
  void serve_until(const std::function<bool()>& done);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace larder::real
