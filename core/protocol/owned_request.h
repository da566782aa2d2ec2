#pragma once

#include <memory>
#include <string_view>

#include "core/protocol/request.h"

namespace larder {

// A request together with every text that it views. Move only; moving keeps the views valid.
class OwnedRequest {
 public:
  // Copies `request` and its texts.
  explicit OwnedRequest(const Request& request);
  OwnedRequest(OwnedRequest&&) noexcept = default;
  OwnedRequest& operator=(OwnedRequest&&) noexcept = default;

  const Request& get() const { return request_; }

 private:
  std::unique_ptr<char[]> texts_;
  Request request_;
};

// Calls visit(std::string_view&) for every text of the request, in a fixed order.
template <class Visit>
void for_each_text(Request& request, Visit&& visit) {
  for (BadBytes& bad : request.header.bad_bytes) visit(bad.key);
  std::visit(
      [&]<class Body>(Body& body) {
        if constexpr (std::is_same_v<Body, OpenSession>) {
          visit(body.tenant), visit(body.client), visit(body.host);
        } else if constexpr (std::is_same_v<Body, PutStart>) {
          for (auto& item : body.items) visit(item.key), visit(item.group), visit(item.parent);
        } else if constexpr (std::is_same_v<Body, ListObjects>) {
          visit(body.prefix), visit(body.pattern);
        } else if constexpr (std::is_same_v<Body, RegisterNode>) {
          visit(body.name), visit(body.endpoint), visit(body.host), visit(body.rack);
          for (auto& segment : body.segments) visit(segment.name);
        } else if constexpr (std::is_same_v<Body, ReportInventory>) {
          for (auto& [extent, retiring, record, checksum, age] : body.items) {
            visit(record.tenant), visit(record.key), visit(record.group), visit(record.parent);
          }
        } else if constexpr (std::is_same_v<Body, ReportCorrupt>) {
          for (auto& extent : body.extents) visit(extent.tenant), visit(extent.key);
        } else if constexpr (requires { body.items.front().key; }) {
          for (auto& item : body.items) visit(item.key);
        }
      },
      request.body);
}

}  // namespace larder
