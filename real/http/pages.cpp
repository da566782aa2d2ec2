#include "real/http/pages.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

namespace larder::real {
namespace {

using nlohmann::ordered_json;

HttpAnswer health(bool serves, const ordered_json& facts) {
  return {.status = serves ? 200u : 503u,
          .content_type = "application/json",
          .body = facts.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n"};
}

HttpAnswer no_page() {
  return {.status = 404,
          .content_type = "text/plain; charset=utf-8",
          .body = "there is /metrics and /health\n"};
}

HttpAnswer metrics(std::string text) {
  return {.content_type = exposition_type, .body = std::move(text)};
}

// Those of them that serve.
std::size_t shown(const StatusReport& status) {
  return static_cast<std::size_t>(std::ranges::count_if(
      status.nodes, [](const StatusReport::Node& node) { return node.state == "shown"; }));
}

}  // namespace

HttpAnswer master_page(std::string_view path, const StatusReport& status, bool superseded,
                       const GivenUp& given_up) {
  if (path == "/metrics") return metrics(exposition(status, given_up));
  if (path != "/health") return no_page();
  const char* const state = superseded          ? "a newer master leads"
                            : status.recovering ? "ok, recovering"
                                                : "ok";
  return health(!superseded, {{"status", state},
                              {"role", "master"},
                              {"epoch", status.epoch.value},
                              {"nodes", status.nodes.size()},
                              {"nodes_shown", shown(status)}});
}

HttpAnswer node_page(std::string_view path, const NodeView& node) {
  if (path == "/metrics") {
    return metrics(exposition(node.status, node.stages, node.capacity, node.given_up));
  }
  if (path != "/health") return no_page();
  const char* const state = !node.connected         ? "no connection to the master"
                            : !node.status.reported ? "the master has not taken its report yet"
                                                    : "ok";
  return health(node.connected && node.status.reported, {{"status", state},
                                                         {"role", "node"},
                                                         {"node", node.name},
                                                         {"epoch", node.status.epoch.value}});
}

}  // namespace larder::real
