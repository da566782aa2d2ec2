#pragma once

#include <cstdint>
#include <memory>

#include "core/protocol/answer.h"
#include "core/protocol/command.h"
#include "core/protocol/request.h"
#include "real/rpc/link_config.h"
#include "real/rpc/loop.h"

namespace larder::real {

// What a node's link brings, on the link's loop (core/node takes it as it is).
class NodeLinkUser {
 public:
  virtual void connected() = 0;
  virtual void disconnected(const Error& why) = 0;  // also when an attempt to connect has failed
  virtual void answered(std::uint64_t ticket, const Answer& answer) = 0;
  virtual void command(const Command& command) = 0;

 protected:
  ~NodeLinkUser() = default;
};

// A node's connection to its master: kept from start() on for ever. Requests go out over the
// present connection and are not repeated, since the node registers anew on the next one. Confined
// to its loop.
class NodeLink {
 public:
  NodeLink(Loop& loop, LinkConfig config, NodeLinkUser& user);
  ~NodeLink();

  void start();
  // Each request has one answer (answer_count is 1), which comes under `ticket` unless the
  // connection breaks first. Dropped if there is none.
  void send(std::uint64_t ticket, const Request& request);
  // Leaves the present master and dials again.
  void reconnect();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace larder::real
