#include "core/client/endpoint_health.h"

namespace larder {
namespace {
constexpr std::size_t endpoints_max = 4096;
}

bool EndpointHealth::may_try(std::string_view endpoint, Time now) const {
  const auto found = retry_at_.find(endpoint);
  return found == retry_at_.end() || now >= found->second;
}

void EndpointHealth::trying(std::string_view endpoint, Time now) {
  const auto found = retry_at_.find(endpoint);
  if (found != retry_at_.end()) found->second = now + retry_;
}

void EndpointHealth::succeeded(std::string_view endpoint) {
  const auto found = retry_at_.find(endpoint);
  if (found != retry_at_.end()) retry_at_.erase(found);
}

void EndpointHealth::failed(std::string_view endpoint, Time now) {
  const auto found = retry_at_.find(endpoint);
  if (found != retry_at_.end()) {
    found->second = now + retry_;
    return;
  }
  if (retry_at_.size() >= endpoints_max) {
    std::erase_if(retry_at_, [&](const auto& entry) { return entry.second <= now; });
  }
  if (retry_at_.size() < endpoints_max) retry_at_.emplace(endpoint, now + retry_);
}

}  // namespace larder
