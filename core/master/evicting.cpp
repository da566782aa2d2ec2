#include <algorithm>

#include "core/base/assert.h"
#include "core/master/state.h"

namespace larder {
namespace {

// After a round that could not free enough, the next one waits so long.
constexpr Duration eviction_retry = std::chrono::milliseconds(100);

}  // namespace

SpaceUse Master::State::use() const {
  SpaceUse use;
  for (const SegmentIndex index : shown_) {
    const Space& space = segments_[index]->space;
    use.capacity += space.capacity();
    use.allocated += space.used() + space.quarantined();
    use.quarantined += space.quarantined();
  }
  use.waiting = waiting_bytes_;
  return use;
}

// A value that alone is larger than the watermark allows stays until somebody needs its space: its
// put was acknowledged, and evicting it at once would help nobody.
bool Master::State::keeps_last() const {
  return waiting_bytes_ == 0_B && catalog_.order().size() <= 1;
}

Bytes Master::State::bytes_wanted() const {
  if (keeps_last()) return 0_B;
  Watermarks marks = config_.watermarks;
  if (round_) marks.high = marks.low;  // a round that has begun goes on down to that
  return bytes_to_free(marks, use());
}

std::optional<SkipReason> Master::State::held_by(const Evictable& evictable) {
  const auto& unit = static_cast<const Unit&>(evictable);
  const Time now = evicting_->now;
  if (keeps_last()) return SkipReason::last;
  if (config_.guards.lease) {
    if (unit.lease.held(now)) return SkipReason::leased;
    if (unit.lease.leased(now)) return SkipReason::exists_lease;
  }
  const auto held = [&](const Object& object) -> std::optional<SkipReason> {
    if (object.unfinished()) return SkipReason::not_complete;
    for (const Replica& replica : object.replicas) {
      const Segment& segment = *segments_[replica.segment];
      // What is on a hidden node frees no space that could be given out.
      if (!segment.shown || nodes_[segment.node]->sick) return SkipReason::sick;
      if (quarantine_full(segment)) return SkipReason::quarantine;
    }
    return std::nullopt;
  };
  if (!unit.is_group) return held(static_cast<const Object&>(unit));
  for (const Extras& member : static_cast<const Group&>(unit).members) {
    if (const std::optional<SkipReason> reason = held(*member.object)) return reason;
  }
  return std::nullopt;
}

// A group goes whole, member by member in the order in which they joined.
Evictor::Taken Master::State::evict(Evictable& evictable) {
  auto& unit = static_cast<Unit&>(evictable);
  if (!unit.is_group) {
    remove_object(*evicting_, static_cast<Object&>(unit), Gone::evicted);
    return {};
  }
  auto& group = static_cast<Group&>(unit);
  const auto members = static_cast<std::uint32_t>(group.members.size());
  for (std::uint32_t i = 0; i < members; ++i) {
    remove_object(*evicting_, *group.members.front().object, Gone::evicted);
  }
  return {.objects = members, .group = true};
}

// What the last round could not take, for the errors of those for whom it freed too little.
std::string Master::State::passed_over() const {
  std::string text;
  for (std::size_t i = 0; i < skip_reasons; ++i) {
    if (last_round_.skipped[i] == 0) continue;
    text += text.empty() ? "; eviction passed over " : ", ";
    text += std::to_string(last_round_.skipped[i]) + " " +
            std::string(to_string(static_cast<SkipReason>(i)));
  }
  return text;
}

void Master::State::run_eviction(Step& step) {
  if (eviction_blocked_ || step.now < eviction_pause_) return;
  const Bytes goal = bytes_wanted();
  if (goal == 0_B) return end_round();  // somebody else has freed enough
  if (!round_) round_.emplace(catalog_.order());
  evicting_ = &step;
  // Others are served between two steps.
  const EvictionRound::Progress progress =
      round_->step(catalog_.order(), {.goal = goal, .looks_max = 128}, *this);
  evicting_ = nullptr;
  if (progress == EvictionRound::Progress::more) return;
  end_round();
  if (progress == EvictionRound::Progress::blocked) {
    eviction_blocked_ = true;
  } else if (bytes_wanted() > 0_B) {
    eviction_pause_ = step.now + eviction_retry;
  }
}

void Master::State::end_round() {
  if (!round_) return;
  last_round_ = round_->counts();
  evictions_ += last_round_;
  round_.reset();
}

void Master::State::handle(Step& step, Caller caller, const Quiesce&) {
  if (Session* session = find_session(caller.header.session)) {
    take_header(step, *session, caller.header);
  }
  quiescing_.push_back(caller.ticket);
  answer_quiesce(step);
}

void Master::State::answer_quiesce(Step& step) {
  if (quiescing_.empty()) return;
  while (more_is_due(step.now)) run_due(step);
  if (quarantine_.size() > 0) return;
  const auto reserve = static_cast<std::uint64_t>((1 - config_.watermarks.high) *
                                                  static_cast<double>(use().capacity.value));
  const QuiesceReport report{.put_bytes_max = {reserve / 2},
                             .evicted_objects = evictions_.objects,
                             .evicted_bytes = evictions_.bytes,
                             .eviction_digest = eviction_digest_.value()};
  for (const Ticket ticket : std::exchange(quiescing_, {})) {
    step.effects.answers.answer(ticket, 0, report);
  }
}

}  // namespace larder
