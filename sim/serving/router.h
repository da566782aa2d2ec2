#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "sim/serving/engine.h"

namespace larder::sim {

enum class RouterPolicy : std::uint8_t {
  round_robin,   // one after the other
  least_loaded,  // the fewest tokens to compute; then the fewest requests, then the first
  // The longest leading part of the prompt on its GPUs and its host, if that is at least
  // `cached_share` of its blocks; the least loaded of equals. Otherwise, and where the loads are
  // too far apart, the least loaded of all. As SGLang's router (cache_aware), which guesses what an
  // engine has, where this one knows.
  prefix_aware,
};
std::string_view router_policy_name(RouterPolicy policy);  // "round-robin" ...
std::optional<RouterPolicy> router_policy_named(std::string_view name);

struct RouterRules {
  RouterPolicy policy = RouterPolicy::prefix_aware;
  double cached_share = 0.3;
  // Loads, in requests, are too far apart if the largest exceeds the smallest by more than this
  std::uint64_t apart_requests = 64;
  double apart_factor = 1.5;  // and is more than so many times the smallest.
};

// Chooses an engine for each request. Deterministic. O(engines), and for prefix_aware O(blocks that
// engines have).
class Router {
 public:
  explicit Router(const RouterRules& rules) : rules_(rules) {}

  // The place of one of `engines`, of which those that are nullptr are not there. Nothing: all are.
  std::optional<std::size_t> choose(std::span<const std::uint64_t> blocks,
                                    std::span<Engine* const> engines);

 private:
  std::optional<std::size_t> next(std::span<Engine* const> engines);

  RouterRules rules_;
  std::size_t next_ = 0;
};

}  // namespace larder::sim
