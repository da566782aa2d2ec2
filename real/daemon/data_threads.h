#pragma once

#include <memory>
#include <vector>

#include "real/daemon/loop_thread.h"
#include "real/transport/tcp_server.h"

namespace larder::real {

// The threads that fill, hash and serve a node's bytes, so that none of it delays what the node has
// to tell its master. Each connection stays with one of them. The node itself is asked before and
// after each range, one call at a time (NodeHost::use); what is in flight between is counted there,
// so that it makes no difference to retirement on which thread the bytes are moved.
class DataThreads {
 public:
  // `failed` is called on some thread, at most once for each, when one cannot go on.
  DataThreads(NodeHost& node, const TcpServerConfig& config, std::size_t count,
              const std::function<void(Error)>& failed);
  // Closes all connections. Waits for what the threads are doing.
  ~DataThreads();

  // From any one thread: serves a connection whose handshake is done.
  void adopt(Socket socket, Hello hello);
  // Connections that were given up since unfinished requests took too much memory.
  std::uint64_t given_up() const;

 private:
  struct Worker {
    LoopThread thread;
    std::unique_ptr<TcpServer> server;
  };
  std::vector<std::unique_ptr<Worker>> workers_;
  std::size_t next_ = 0;
};

}  // namespace larder::real
