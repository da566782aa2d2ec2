#pragma once

#include <cstddef>
#include <memory>

#include "real/rpc/handshake.h"
#include "real/rpc/loop.h"
#include "real/rpc/socket.h"
#include "real/transport/node_host.h"

namespace larder::real {

struct TcpServerConfig {
  std::size_t connections_max = 4096;  // more are closed
  // A peer that has begun a request and neither sends nor takes a byte for that long goes. (The
  // node itself gives a fill up earlier, Timing::fill_stalled.)
  Duration stalled = std::chrono::seconds(10);
};

// The node's side of data connections: fills extents straight from sockets and serves their bytes
// straight to them, as the node allows item by item. A fill is sealed only if its connection still
// stands. Whoever sends what is no request of ours is closed, with at most one line in the log for
// each second. Confined to its loop, which is the node host's.
class TcpServer final : TransferEnder {
 public:
  TcpServer(Loop& loop, NodeHost& node, TcpServerConfig config);
  ~TcpServer();  // closes all connections

  // Serves a connection whose handshake is done (Doors::enter).
  void adopt(Socket socket, Hello hello);
  std::size_t connections() const;

 private:
  struct State;
  class Session;

  void end(FillId fill) override;
  void end(ReadId read) override;

  std::unique_ptr<State> state_;
};

}  // namespace larder::real
