#include "core/protocol/timing_check.h"

#include <string>
#include <string_view>

#include "core/base/duration_text.h"

namespace larder {
namespace {

struct Named {
  std::string_view name;
  Duration value;
};

std::string text(const Named& time) {
  return std::string(time.name) + " (" + duration_text(time.value) + ")";
}

Status positive(const Named& time) {
  if (time.value > Duration(0)) return {};
  return failed(ErrorCode::invalid_params, std::string(time.name) + " must be more than 0");
}

Status at_most(const Named& less, const Named& more, std::string_view because) {
  if (less.value <= more.value) return {};
  return failed(ErrorCode::invalid_params,
                text(less) + " must be at most " + text(more) + ": " + std::string(because));
}

Status at_most_half(const Named& less, const Named& more, std::string_view because) {
  if (less.value <= more.value / 2) return {};
  return failed(ErrorCode::invalid_params, text(less) + " must be at most half of " + text(more) +
                                               ": " + std::string(because));
}

}  // namespace

Status check(const Timing& timing) {
  const Named beat{"heartbeat", timing.heartbeat};
  const Named silence{"hidden-after-silence", timing.hidden_after_silence};
  const Named lost{"node-lost", timing.node_lost};
  const Named session{"session-lost", timing.session_lost};
  const Named stale{"stale-heartbeat", timing.stale_heartbeat};
  const Named retry{"retirement-retry", timing.retirement_retry};
  const Named sick{"retirement-sick", timing.retirement_sick};
  for (const Named& time :
       {beat, silence, lost, session, stale, retry, sick, Named{"lease", timing.lease},
        Named{"exists-lease", timing.exists_lease}}) {
    LARDER_CHECK(positive(time));
  }
  constexpr std::string_view late = "one late heartbeat must not count as silence";
  LARDER_CHECK(at_most_half(beat, silence, late));
  LARDER_CHECK(at_most_half(beat, session, late));
  LARDER_CHECK(at_most_half(beat, stale, late));
  constexpr std::string_view hidden = "a node is hidden before it is lost";
  LARDER_CHECK(at_most(silence, lost, hidden));
  LARDER_CHECK(at_most({"hidden-after-disconnect", timing.hidden_after_disconnect}, lost, hidden));
  LARDER_CHECK(at_most(retry, sick, "a node is asked again before it counts as sick"));
  LARDER_CHECK(at_most(sick, {"retirement-lost", timing.retirement_lost},
                       "a node counts as sick before it is lost"));
  return at_most({"exists-lease", timing.exists_lease}, {"lease", timing.lease},
                 "whether a key is there is protected for no longer than its bytes");
}

}  // namespace larder
