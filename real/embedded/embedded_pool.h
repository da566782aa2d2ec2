#pragma once

#include <map>
#include <memory>
#include <string>

#include "core/master/master.h"
#include "core/ports/master_link.h"
#include "core/ports/transport.h"
#include "real/rpc/loop.h"
#include "real/transport/local_transport.h"
#include "real/transport/node_host.h"

namespace larder::real {

struct EmbeddedOptions {
  Bytes memory = 256_MiB;  // rounded down to pages
  std::string policy = "leaf-first";
};

// A whole pool inside this process, without a socket: the core's master and node, joined by calls
// on one loop, and the local transport to the node's memory. Nothing of it outlives it. Since
// nobody can be cut off from anybody here, no silence makes a node or a session lost: a process
// that was stopped for an hour goes on where it was. Confined to its loop.
class EmbeddedPool final : MasterLink, AnswerSink, NodeHostUser {
 public:
  // Maps the memory, and runs the loop on this thread until the pool can take a value. Errors:
  // invalid_params; no_available_handle (the machine has not so much memory).
  static Result<std::unique_ptr<EmbeddedPool>> make(Loop& loop, const EmbeddedOptions& options);
  ~EmbeddedPool();

  MasterLink& master() { return *this; }
  Transport& transport() { return *transport_; }

 private:
  struct Pending;  // a client's call
  class Ended;     // awaits its end

  explicit EmbeddedPool(Loop& loop);
  Status start(const EmbeddedOptions& options);

  Task<Result<Reply>> call(const Request& request, Time deadline) override;
  void answer(Ticket ticket, std::uint32_t index, const Answer& answer) override;

  void send(std::uint64_t ticket, const Request& request) override;
  void reconnect() override;
  void finished() override;

  void ask(Ticket ticket, const Request& request);
  void carry_out();

  Loop& loop_;
  std::unique_ptr<Master> master_;
  MasterEffects effects_;
  Alarm alarm_;
  Ticket next_ticket_ = 1;
  std::map<Ticket, Pending*> clients_;
  std::map<Ticket, std::uint64_t> nodes_;  // the node's own numbers of its calls
  std::unique_ptr<NodeHost> host_;
  std::unique_ptr<LocalTransport> transport_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // see NodeHost
};

}  // namespace larder::real
