#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/time.h"

namespace larder {

// When an engine that could begin to compute a prompt stops waiting for those of its pages that are
// still on their way from the pool. As SGLang's HiCache has it (its design page, "Prefetch from
// L3"; the default times are those of its PrefetchTimeoutConfig).
enum class PrefetchPolicy : std::uint8_t {
  best_effort,    // at once: what has come is used
  wait_complete,  // when all has come, or will not come
  timeout,        // as wait_complete, or after a time that grows with what was asked for
};
std::string_view prefetch_policy_name(PrefetchPolicy policy);  // "best-effort" ...
std::optional<PrefetchPolicy> prefetch_policy_named(std::string_view name);

struct PrefetchRules {
  PrefetchPolicy policy = PrefetchPolicy::timeout;
  std::uint64_t tokens_min = 256;  // fewer are computed, not fetched
  // Of the time-out; counted from when the pool was asked what it has.
  Duration base = std::chrono::seconds(2);
  Duration each_1024_tokens = std::chrono::milliseconds(100);
  Duration longest = std::chrono::seconds(30);
};

// min(longest, base + each_1024_tokens * tokens / 1024), rounded down to a nanosecond.
Duration prefetch_timeout(const PrefetchRules& rules, std::uint64_t tokens);

// Where the prefetch of one prompt stands.
struct PrefetchState {
  Duration since_asked{0};
  // That are to come; nothing while the pool has not yet said what it has, which is not the same
  // as having nothing.
  std::optional<std::uint64_t> tokens;
  bool ended = false;  // all has come, or nothing more will
};
// Whether an engine that is free for the prompt should wait.
bool waits_for_prefetch(const PrefetchRules& rules, const PrefetchState& state);
// Counted from when the pool was asked: when it stops waiting although nothing has ended. Nothing:
// never.
std::optional<Duration> prefetch_given_up_after(const PrefetchRules& rules,
                                                std::optional<std::uint64_t> tokens);

}  // namespace larder
