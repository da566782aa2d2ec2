#pragma once

#include <string_view>

#include "core/node/node.h"
#include "core/protocol/answer.h"
#include "core/protocol/stages.h"
#include "real/http/exposition.h"
#include "real/http/http_server.h"

namespace larder::real {

// The pages of a master and of a node: /metrics, for Prometheus, and /health, for whoever starts
// and stops processes or sends them traffic: 200 and {"status": "ok", ...} while it serves, 503
// with the reason in "status" while it does not. Any other path: 404, which names these.
HttpAnswer master_page(std::string_view path, const StatusReport& status, bool superseded,
                       const GivenUp& given_up = {});

struct NodeView {
  const NodeStatus& status;
  const StageTimes& stages;
  std::string_view name;
  Bytes capacity;
  bool connected = false;  // to a master
  GivenUp given_up;
};
HttpAnswer node_page(std::string_view path, const NodeView& node);

}  // namespace larder::real
