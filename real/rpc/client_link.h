#pragma once

#include <memory>

#include "core/ports/master_link.h"
#include "real/rpc/link_config.h"
#include "real/rpc/loop.h"

namespace larder::real {

// A client's way to its master over one TCP connection, made when the first call needs it. Calls
// are pipelined; what had no answer when the connection broke is sent again on the next one, while
// its deadline lasts. Confined to its loop; all tasks must have ended or been destroyed before it.
//
// Errors of a call also: invalid_params (too long for one frame); whatever the master answers to a
// whole request. A reply that no master of ours would send breaks the connection. Calls that wait
// for a connection for half a second are worth a warning, which says for how long they go on.
class ClientLink final : public MasterLink {
 public:
  ClientLink(Loop& loop, LinkConfig config);
  ~ClientLink();

  Task<Result<Reply>> call(const Request& request, Time deadline) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace larder::real
