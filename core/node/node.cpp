#include "core/node/node.h"

#include <algorithm>
#include <utility>

#include "core/base/assert.h"
#include "core/base/time.h"
#include "core/node/sentence.h"

namespace larder {
namespace {

constexpr std::size_t due_per_tick = 512;
constexpr Bytes segment_size_max = 1024_TiB;

}  // namespace

Node::Node(NodeConfig config, IncarnationId incarnation, SegmentMemory& memory)
    : config_(std::move(config)),
      incarnation_(incarnation),
      memory_(memory),
      ended_(config_.ended_puts_max),
      heartbeat_(config_.timing.heartbeat) {}

Status Node::add_segment(Time now, NodeSegment segment, NodeEffects& effects) {
  if (segment.kind != SegmentKind::memory) {
    return failed(ErrorCode::not_supported,
                  sentence("segment ", segment.name, ": this node stores in memory only"));
  }
  if (!segment.id || segment.name.size() > name_bytes_max || segment.size < footer_size ||
      segment.size > segment_size_max || segment.size.value % 64 != 0) {
    return failed(ErrorCode::invalid_params,
                  sentence("segment ", segment.name, " of ", segment.size,
                           " bytes: wants an id, a name of at most ", name_bytes_max,
                           " bytes, and a multiple of 64 bytes up to ", segment_size_max));
  }
  const SegmentId id = segment.id;
  if (segments_.contains(id)) {
    return failed(ErrorCode::segment_already_exists, to_string(id));
  }
  segments_.emplace(id, StoredSegment{.info = std::move(segment), .extents = {}});
  if (link_ != Link::none) register_now(now, effects);
  return {};
}

void Node::tick(Time now, NodeEffects& effects) {
  if (retire_cursor_) retire_some(effects);
  for (std::size_t i = 0; i < due_per_tick && !due_.empty(); ++i) {
    const auto [at, id] = *due_.begin();
    if (at > now) break;
    due_.erase(due_.begin());
    if (const auto fill = fills_.find(FillId{id}); fill != fills_.end()) {
      fill_due(now, fill, effects);
      continue;
    }
    const auto read = reads_.find(ReadId{id});
    LARDER_ASSERT(read != reads_.end(), "something that has ended is due");
    read->second.due = time_never;
    effects.abort_reads.push_back(read->first);
  }
  const bool unanswered = std::ranges::any_of(
      awaited_, [now](const Awaited& one) { return one.ticket != 0 && one.deadline <= now; });
  if (unanswered) {
    // The connection may be half open: its other end is gone, and nobody told us.
    last_error_ = "the master does not answer";
    leave(effects);
  } else if (register_at_ <= now) {
    register_now(now, effects);
  } else if (heartbeat_at_ <= now) {
    heartbeat_at_ = later(now, heartbeat_);
    if (awaited(Call::heartbeat).ticket == 0) {
      send(now, Call::heartbeat,
           Heartbeat{.incarnation = incarnation_,
                     .registration = registration_,
                     .fill_queue = fill_queue(now),
                     .overlaps = overlaps_,
                     .stages = stages_.take_unsent()},
           effects);
    }
  }
  settle(now, effects);
}

std::optional<Time> Node::next_deadline() const {
  if (retire_cursor_) return Time::min();
  Time next = std::min(register_at_, heartbeat_at_);
  if (!due_.empty()) next = std::min(next, due_.begin()->first);
  for (const Awaited& one : awaited_) {
    if (one.ticket != 0) next = std::min(next, one.deadline);
  }
  if (next == time_never) return std::nullopt;
  return next;
}

}  // namespace larder
