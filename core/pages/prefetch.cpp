#include "core/pages/prefetch.h"

#include <algorithm>
#include <array>

#include "core/base/assert.h"

namespace larder {
namespace {

constexpr std::array<std::string_view, 3> names{"best-effort", "wait-complete", "timeout"};

}  // namespace

std::string_view prefetch_policy_name(PrefetchPolicy policy) {
  return names[static_cast<std::size_t>(policy)];
}

std::optional<PrefetchPolicy> prefetch_policy_named(std::string_view name) {
  const auto* at = std::ranges::find(names, name);
  if (at == names.end()) return std::nullopt;
  return static_cast<PrefetchPolicy>(at - names.begin());
}

Duration prefetch_timeout(const PrefetchRules& rules, std::uint64_t tokens) {
  LARDER_ASSERT(rules.base.count() >= 0 && rules.each_1024_tokens.count() >= 0);
  if (rules.longest <= rules.base) return rules.longest;
  const auto room = static_cast<std::uint64_t>((rules.longest - rules.base).count());
  const auto each = static_cast<std::uint64_t>(rules.each_1024_tokens.count());
  std::uint64_t nanoseconds = 0;
  if (__builtin_mul_overflow(each, tokens, &nanoseconds)) return rules.longest;
  return rules.base + Duration(static_cast<std::int64_t>(std::min(room, nanoseconds / 1024)));
}

std::optional<Duration> prefetch_given_up_after(const PrefetchRules& rules,
                                                std::optional<std::uint64_t> tokens) {
  switch (rules.policy) {
    case PrefetchPolicy::best_effort:
      return Duration(0);
    case PrefetchPolicy::wait_complete:
      return std::nullopt;
    case PrefetchPolicy::timeout:
      return prefetch_timeout(rules, tokens.value_or(0));
  }
  return std::nullopt;
}

bool waits_for_prefetch(const PrefetchRules& rules, const PrefetchState& state) {
  if (state.ended) return false;
  const std::optional<Duration> after = prefetch_given_up_after(rules, state.tokens);
  return !after || state.since_asked < *after;
}

}  // namespace larder
