#include "sim/serving/router.h"

#include <algorithm>
#include <array>
#include <utility>

namespace larder::sim {
namespace {

constexpr std::array<std::string_view, 3> names{"round-robin", "least-loaded", "prefix-aware"};

}  // namespace

std::string_view router_policy_name(RouterPolicy policy) {
  return names[static_cast<std::size_t>(policy)];
}

std::optional<RouterPolicy> router_policy_named(std::string_view name) {
  const auto* at = std::ranges::find(names, name);
  if (at == names.end()) return std::nullopt;
  return static_cast<RouterPolicy>(at - names.begin());
}

std::optional<std::size_t> Router::next(std::span<Engine* const> engines) {
  for (std::size_t tried = 0; tried < engines.size(); ++tried) {
    const std::size_t at = next_++ % engines.size();
    if (engines[at] != nullptr) return at;
  }
  return std::nullopt;
}

std::optional<std::size_t> Router::choose(const ServedRequest& request,
                                          std::span<Engine* const> engines) {
  if (policy_ == RouterPolicy::round_robin) return next(engines);
  std::optional<std::size_t> best;
  std::pair<std::uint64_t, std::uint64_t> least;  // tokens, requests
  for (std::size_t at = 0; at < engines.size(); ++at) {
    if (engines[at] == nullptr) continue;
    const EngineLoad load = engines[at]->load();
    std::pair cost(load.tokens, load.waiting + load.running);
    if (policy_ == RouterPolicy::prefix_aware) {
      const std::uint64_t cached =
          std::uint64_t{page_tokens_} * engines[at]->cached(request.blocks);
      cost.first += request.record.input_tokens - std::min(request.record.input_tokens, cached);
    }
    if (best && !(cost < least)) continue;
    best = at;
    least = cost;
  }
  return best;
}

}  // namespace larder::sim
