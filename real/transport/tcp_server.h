#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "real/rpc/handshake.h"
#include "real/rpc/loop.h"
#include "real/rpc/socket.h"
#include "real/transport/node_host.h"
#include "real/transport/tcp_options.h"

namespace larder::real {

struct TcpServerConfig {
  TcpOptions tcp;
  std::size_t connections_max = 4096;                        // more are closed
  std::size_t unfinished_bytes_max = std::size_t{64} << 20;  // of all requests that are coming in
  // A peer whose request's header does not end within that time goes, and one that then neither
  // sends nor takes a byte for that long. (The node gives a fill up earlier, Timing::fill_stalled.)
  Duration stalled = std::chrono::seconds(10);
};

// The node's side of data connections: fills extents straight from sockets and serves their bytes
// straight to them, as the node allows item by item. A fill is sealed only if its connection still
// stands. Whoever sends what is no request of ours is closed, with at most one line in the log for
// each second. Confined to its loop, which may be another than the node host's.
class TcpServer final : TransferEnder {
 public:
  TcpServer(Loop& loop, NodeHost& node, TcpServerConfig config);
  ~TcpServer();  // closes all connections

  // Serves a connection whose handshake is done (Doors::enter).
  void adopt(Socket socket, Hello hello);
  std::size_t connections() const;
  // Connections that were given up since unfinished requests took too much memory. From any thread.
  std::uint64_t given_up() const;

 private:
  struct State;
  class Session;

  void end(FillId fill) override;
  void end(ReadId read) override;

  template <class Work>
  void on_loop(Work work);

  std::shared_ptr<State> state_;
};

}  // namespace larder::real
