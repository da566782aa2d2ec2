#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "sim/serving/engine.h"

namespace larder::sim {

// By which an engine is chosen; of equals the one with the fewest requests, and then the first.
enum class RouterPolicy : std::uint8_t {
  round_robin,   // one after the other
  least_loaded,  // the fewest tokens that wait to be computed
  // The fewest tokens to compute until this prompt's first one is there: those that wait, and those
  // of the prompt that are neither on the engine's GPUs nor on its host. So Mooncake's Conductor
  // chooses prefill instances (FAST'25, "cache-aware prefill scheduling"), with tokens for times.
  prefix_aware,
};
std::string_view router_policy_name(RouterPolicy policy);  // "round-robin" ...
std::optional<RouterPolicy> router_policy_named(std::string_view name);

// Chooses an engine for each request. It knows what engines have, where a real one is told by
// them, a little later. O(engines), and for prefix_aware O(blocks that they have).
class Router {
 public:
  Router(RouterPolicy policy, std::uint32_t page_tokens)
      : policy_(policy), page_tokens_(page_tokens) {}

  // The place of one of `engines`, of which those that are nullptr are not there. Nothing: none is.
  std::optional<std::size_t> choose(const ServedRequest& request, std::span<Engine* const> engines);

 private:
  std::optional<std::size_t> next(std::span<Engine* const> engines);

  RouterPolicy policy_;
  std::uint32_t page_tokens_;
  std::size_t next_ = 0;
};

}  // namespace larder::sim
