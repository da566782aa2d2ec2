#include "sim/serving/router.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace larder::sim {
namespace {

constexpr std::array<std::string_view, 3> names{"round-robin", "least-loaded", "prefix-aware"};

std::uint64_t requests(const EngineLoad& load) { return load.waiting + load.running; }

// Less is better.
auto cost(const EngineLoad& load) { return std::tuple(load.tokens, requests(load)); }

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

std::optional<std::size_t> Router::choose(std::span<const std::uint64_t> blocks,
                                          std::span<Engine* const> engines) {
  if (rules_.policy == RouterPolicy::round_robin) return next(engines);
  std::optional<std::size_t> idlest;
  EngineLoad least;
  std::uint64_t fewest = ~std::uint64_t{0};
  std::uint64_t most = 0;
  std::optional<std::size_t> nearest;
  EngineLoad nearest_load;
  std::size_t longest = 0;
  for (std::size_t at = 0; at < engines.size(); ++at) {
    if (engines[at] == nullptr) continue;
    const EngineLoad load = engines[at]->load();
    if (!idlest || cost(load) < cost(least)) {
      idlest = at;
      least = load;
    }
    fewest = std::min(fewest, requests(load));
    most = std::max(most, requests(load));
    if (rules_.policy != RouterPolicy::prefix_aware) continue;
    const std::size_t cached = engines[at]->cached(blocks);
    if (!nearest || cached > longest || (cached == longest && cost(load) < cost(nearest_load))) {
      nearest = at;
      nearest_load = load;
      longest = cached;
    }
  }
  if (!nearest) return idlest;
  const bool apart = most - fewest > rules_.apart_requests &&
                     static_cast<double>(most) > rules_.apart_factor * static_cast<double>(fewest);
  const bool cached =
      static_cast<double>(longest) >= rules_.cached_share * static_cast<double>(blocks.size());
  return cached && longest > 0 && !apart ? nearest : idlest;
}

}  // namespace larder::sim
