#include <algorithm>

#include "core/master/state.h"
#include "core/protocol/extent_shape.h"

namespace larder {
namespace {

// A local segment is passed over when its share of used bytes is this much above that of a random
// other one: near is worth something, an uneven pool costs more.
constexpr double local_imbalance_max = 0.10;

double used_share(const Space& space) {
  if (space.capacity() == 0_B) return 1;
  return 1 - static_cast<double>(space.free_bytes().value) /
                 static_cast<double>(space.capacity().value);
}

bool contains(const std::vector<SegmentId>& list, SegmentId id) {
  return std::ranges::find(list, id) != list.end();
}

}  // namespace

bool Master::State::quarantine_full(const Segment& segment) const {
  const auto share = static_cast<std::uint64_t>(
      config_.quarantine_share_max * static_cast<double>(segment.space.capacity().value));
  return segment.space.quarantined() > std::max(Bytes{share}, config_.quarantine_bytes_min);
}

bool Master::State::has_room(const Put& put, SegmentIndex index) const {
  const Segment& segment = *segments_[index];
  const ExtentShape shape = extent_shape(put.object->size, segment.description.kind);
  return segment.space.largest_free() >= shape.length;
}

// `strict`: also passes over what works but is slow to answer now. In a full pool hardly any has
// room, so that is asked first.
bool Master::State::eligible(Time now, const Put& put, SegmentIndex index, bool strict) const {
  if (!has_room(put, index)) return false;
  const Segment& segment = *segments_[index];
  if (!segment.shown || (put.wishes && contains(put.wishes->avoid, segment.description.id)))
    return false;
  for (const Replica& replica : put.object->replicas) {
    if (replica.segment == index) return false;
  }
  const NodeRecord& node = *nodes_[segment.node];
  if (node.sick || quarantine_full(segment)) return false;
  if (!strict) return true;
  return node.connected && node.fill_queue <= config_.timing.busy_queue &&
         now - node.last_heard <= config_.timing.stale_heartbeat;
}

// Whether a replica of the put stands on the segment's host already.
bool Master::State::host_taken(const Put& put, SegmentIndex index) const {
  return std::ranges::any_of(put.object->replicas, [&](const Replica& replica) {
    return segments_[replica.segment]->description.host == segments_[index]->description.host;
  });
}

// Whether `a` is the better place for the next replica of the put: on a host of its own first, then
// the emptier one.
bool Master::State::better(const Put& put, SegmentIndex a, SegmentIndex b) const {
  const bool a_taken = host_taken(put, a);
  const bool b_taken = host_taken(put, b);
  if (a_taken != b_taken) return b_taken;
  return used_share(segments_[a]->space) < used_share(segments_[b]->space);
}

// Two candidates at random, the better one that has room wins: the load evens out, and a new, empty
// node gets at most twice its share of new puts (Mitzenmacher, "The Power of Two Choices", 2001).
// The first replica goes to the writer's own host if that is not much fuller; a later one is drawn
// only on a host of its own.
std::optional<SegmentIndex> Master::State::choose(Time now, const Session& session, const Put& put,
                                                  bool strict) {
  const auto draw = [&]() -> std::optional<SegmentIndex> {
    const SegmentIndex index = shown_[random_.below(shown_.size())];
    return eligible(now, put, index, strict) ? std::optional(index) : std::nullopt;
  };
  std::optional<SegmentIndex> best = draw();
  const std::optional<SegmentIndex> other = draw();
  if (other && (!best || better(put, *other, *best))) best = other;
  if (best && host_taken(put, *best)) return std::nullopt;
  if (!put.object->replicas.empty() || session.host.empty()) return best;
  const auto on_host = shown_on_host_.find(session.host);
  if (on_host == shown_on_host_.end()) return best;
  for (const SegmentIndex index : on_host->second) {
    const Segment& local = *segments_[index];
    if (!eligible(now, put, index, strict)) continue;
    if (best && segments_[*best]->description.host == session.host) continue;
    if (!best ||
        used_share(local.space) <= used_share(segments_[*best]->space) + local_imbalance_max) {
      best = index;
    }
  }
  return best;
}

bool Master::State::place_on(Step&, Put& put, SegmentIndex index) {
  Segment& segment = *segments_[index];
  const ExtentShape shape = extent_shape(put.object->size, segment.description.kind);
  const Result<ExtentId> extent = segment.space.allocate(shape.length, shape.alignment);
  if (!extent) return false;
  Replica replica{.segment = index,
                  .extent = *extent,
                  .confirmed_by = static_cast<std::uint16_t>(nodes_[segment.node]->registration),
                  .offset = segment.space.range(*extent).offset};
  replica.advance(ReplicaEvent::assign_space);
  put.object->replicas.push_back(replica);
  return true;
}

std::size_t Master::State::place(Step& step, const Session& session, Put& put) {
  // In a full pool most puts are tried in vain before something has left.
  const auto room = [&](SegmentIndex index) { return has_room(put, index); };
  if (std::ranges::none_of(shown_, room)) return 0;
  auto& replicas = put.object->replicas;
  if (put.wishes) {
    for (const SegmentId id : put.wishes->preferred) {
      if (replicas.size() == put.replicas_wanted) break;
      const std::optional<SegmentIndex> index = find_segment(id);
      if (index && eligible(step.now, put, *index, true)) place_on(step, put, *index);
    }
  }
  for (const bool strict : {true, false}) {
    while (replicas.size() < put.replicas_wanted) {
      const std::optional<SegmentIndex> index = choose(step.now, session, put, strict);
      if (index && place_on(step, put, *index)) continue;
      // The draw failed: the best of all that have room, in order.
      std::optional<SegmentIndex> best;
      for (const SegmentIndex candidate : shown_) {
        if (!eligible(step.now, put, candidate, strict)) continue;
        if (!best || better(put, candidate, *best)) best = candidate;
      }
      if (!best || !place_on(step, put, *best)) break;
    }
  }
  return replicas.size();
}

}  // namespace larder
