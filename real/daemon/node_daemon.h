#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/base/random.h"
#include "core/node/node.h"
#include "real/daemon/data_threads.h"
#include "real/http/http_server.h"
#include "real/rpc/listener.h"
#include "real/rpc/loop.h"
#include "real/rpc/node_link.h"
#include "real/system/mapped_memory.h"
#include "real/transport/node_host.h"

namespace larder::real {

struct NodeOptions {
  Endpoint master{.host = "127.0.0.1", .port = 7700};
  Endpoint listen{.host = "127.0.0.1", .port = 0};
  std::string advertise;  // a host; empty: the one of `listen`
  Bytes memory = 1_GiB;   // rounded down to pages; 0: the node contributes nothing
  std::string name;       // empty: host:port
  std::string host;       // nodes of one host fail together; empty: the machine's name
  std::string rack;
  TcpOptions tcp;
  std::size_t data_threads = 1;  // that move and hash its bytes
  Timing timing;
};

// The core's node behind a listening port, with its memory and its connection to the master.
// Its thread talks to the master and keeps the node's time; the bytes have threads of their own.
class NodeDaemon final : Doors, NodeLinkUser, NodeHostUser, HttpPages {
 public:
  struct Events {
    // Once, from the loop, when the master has taken the node in.
    std::move_only_function<void()> ready;
    // At most once, from the loop, when it cannot go on.
    std::move_only_function<void(Error)> ended;
  };

  // Maps its memory, which takes some 0.3 s for each GiB, and listens. Errors: of the options, the
  // memory and the port; cancelled by `progress`.
  static Result<std::unique_ptr<NodeDaemon>> make(Loop& loop, NodeOptions options,
                                                  const MappedMemory::Progress& progress,
                                                  Events events);
  ~NodeDaemon();

  Endpoint endpoint() const { return listener_->endpoint(); }
  const NodeOptions& options() const { return options_; }

  // On the loop, once, before the process ends: stops serving, and tells the master so that nobody
  // looks for this node any more. `left` is called from the loop when the master has answered, or
  // at once if there is none; it may be never.
  void leave(std::move_only_function<void()> left);

 private:
  NodeDaemon(Loop& loop, NodeOptions options, Events events);
  Status start(const MappedMemory::Progress& progress);
  Status begin_incarnation(const MappedMemory::Progress& progress);
  void begin_again();
  void look_whether_ready();
  void say_left();

  Status admits(Role role) const override;
  void enter(Role role, Socket socket, Hello hello) override;
  bool enter_other(Socket& socket, std::string_view first) override;
  HttpAnswer page(std::string_view path) override;

  void connected() override;
  void disconnected(const Error& why) override;
  void answered(std::uint64_t ticket, const Answer& answer) override;
  void command(const Command& command) override;

  void send(std::uint64_t ticket, const Request& request) override;
  void reconnect() override;
  void finished() override;

  Loop& loop_;
  NodeOptions options_;
  Events events_;
  Random random_;
  NodeConfig config_;
  bool linked_ = false;
  bool leaving_ = false;
  std::move_only_function<void()> left_;
  std::unique_ptr<NodeLink> link_;
  std::unique_ptr<NodeHost> host_;
  std::unique_ptr<DataThreads> data_;
  HttpServer http_;
  std::unique_ptr<Listener> listener_;
};

}  // namespace larder::real
