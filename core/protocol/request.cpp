#include "core/protocol/request.h"

#include <array>

namespace larder {

std::size_t answer_count(const RequestBody& body) {
  return std::visit(
      [](const auto& request) -> std::size_t {
        if constexpr (requires { request.items; } &&
                      !std::is_same_v<std::decay_t<decltype(request)>, ReportInventory>) {
          return request.items.size();
        } else {
          return 1;
        }
      },
      body);
}

std::string_view request_name(const RequestBody& body) {
  static constexpr std::array<std::string_view, std::variant_size_v<RequestBody>> names{
      "OpenSession",       "CloseSession",   "KeepAlive",    "PutStart",        "PutEnd",
      "PutRevoke",         "GetReplicaList", "Exists",       "Remove",          "DescribeSegments",
      "GetStatus",         "Quiesce",        "RegisterNode", "ReportInventory", "Heartbeat",
      "ConfirmRetirement", "ReportCorrupt"};
  return names[body.index()];
}

}  // namespace larder
