#include "core/protocol/request.h"

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

std::string_view request_name(const RequestBody& body) { return request_names[body.index()]; }

}  // namespace larder
