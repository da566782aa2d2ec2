#pragma once

#include <map>
#include <memory>

#include "core/ports/transport.h"
#include "real/rpc/loop.h"
#include "real/transport/node_host.h"

namespace larder::real {

// Source and target in one process: memcpy between the caller's slices and the segments of the
// process's node, in steps on the caller's loop. Errors of an item: those of Node::begin_fill, seal
// and begin_read. Confined to its loop.
class LocalTransport final : public Transport {
 public:
  LocalTransport(Loop& loop, NodeHost& node);
  ~LocalTransport();

  TransportTraits traits() const override { return {.name = "local"}; }
  void submit(Transfer transfer, Time deadline, Completion& completion) override;
  void abandon(Completion& completion, std::shared_ptr<void> keep_alive) noexcept override;

 private:
  class Operation;

  Loop& loop_;
  NodeHost& node_;
  ConnectionId connection_;
  std::map<Completion*, std::shared_ptr<Operation>> operations_;
};

}  // namespace larder::real
