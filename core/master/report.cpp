#include <algorithm>
#include <array>
#include <utility>

#include "core/base/assert.h"
#include "core/master/state.h"

namespace larder {

std::string_view state_name(const NodeRecord& node) {
  switch (node.state) {
    case NodeState::reporting:
      return "reporting";
    case NodeState::shown:
      return node.sick ? "sick" : "shown";
    case NodeState::hidden:
      return "hidden";
    case NodeState::lost:
      return "lost";
  }
  return "";
}

std::string_view to_string(NodeEvent::Kind kind) {
  switch (kind) {
    case NodeEvent::Kind::registered:
      return "a node has registered";
    case NodeEvent::Kind::shown:
      return "a node is shown";
    case NodeEvent::Kind::hidden:
      return "a node is hidden";
    case NodeEvent::Kind::sick:
      return "a node is sick";
    case NodeEvent::Kind::well:
      return "a node is well again";
    case NodeEvent::Kind::lost:
      return "a node is lost";
  }
  return "";
}

namespace {

void add_stages(const std::string& where, const std::array<std::string_view, stages_max>& names,
                const StageTimes& times, StatusReport& report) {
  for (std::size_t i = 0; i < stages_max; ++i) {
    if (times.all()[i].count() > 0) {
      report.stages.push_back(stage_of(where, std::string(names[i]), times.all()[i]));
    }
  }
}

}  // namespace

StatusReport::Stage stage_of(std::string where, std::string stage, const Histogram& times) {
  return {.where = std::move(where),
          .stage = std::move(stage),
          .count = times.count(),
          .p50 = times.quantile(0.5),
          .p99 = times.quantile(0.99),
          .longest = times.longest_seen()};
}

void Master::State::handle(Step& step, Caller caller, const GetStatus&) {
  step.effects.answers.answer(caller.ticket, 0, status(step.now));
}

StatusReport Master::State::status(Time now) const {
  StatusReport report;
  report.epoch = identity_.epoch;
  report.recovering = recovering_;
  report.objects = catalog_.complete_objects();
  report.unfinished_puts = puts_.size();
  report.waiting_puts = waiting_.size() + over_share_;
  report.sessions = sessions_.size();
  const SpaceUse pool = use();
  report.capacity = pool.capacity;
  report.used = pool.allocated - pool.quarantined;
  report.quarantined = pool.quarantined;
  report.free = pool.capacity - pool.allocated;
  for (const SegmentIndex index : shown_) {
    report.largest_free = std::max(report.largest_free, segments_[index]->space.largest_free());
  }
  report.puts = counted_puts_;
  report.gets = counted_gets_;
  report.hits = counted_hits_;
  report.evicted_objects = evictions_.objects;
  report.evicted_bytes = evictions_.bytes;
  for (std::size_t i = 0; i < skip_reasons; ++i) {
    report.eviction_skips.emplace_back(to_string(static_cast<SkipReason>(i)),
                                       evictions_.skipped[i]);
  }
  for (const auto& [code, count] : refusals_) {
    report.refusals.emplace_back(error_name(code), count);
  }
  for (const auto& [why, count] : gone_) report.gone.emplace_back(gone_name(why), count);
  for (const auto& node : nodes_) {
    if (node != nullptr) report_node(now, *node, report);
  }
  for (const LostNode& lost : lost_nodes_) {
    report.lost_nodes.push_back({.name = lost.name,
                                 .endpoint = lost.endpoint,
                                 .why = lost.why,
                                 .ago = now - lost.at,
                                 .objects = lost.objects,
                                 .bytes = lost.bytes,
                                 .cleared = lost.cleared});
  }
  add_stages("clients", client_stage_names, client_stages_, report);
  for (const auto& node : nodes_) {
    if (node != nullptr) add_stages("node " + node->name, node_stage_names, node->stages, report);
  }
  return report;
}

const StageTimes* Master::State::node_stages(std::string_view name) const {
  for (const auto& node : nodes_) {
    if (node != nullptr && node->name == name) return &node->stages;
  }
  return nullptr;
}

std::string_view Master::State::gone_name(Gone why) {
  switch (why) {
    case Gone::removed:
      return "removed";
    case Gone::evicted:
      return "evicted";
    case Gone::expired:
      return "expired";
    case Gone::replaced:
      return "replaced";
    case Gone::bad:
      return "bad";
    case Gone::lost:
      return "lost with a node";
  }
  return "";
}

// One line for the node, and its part of what is not shown.
void Master::State::report_node(Time now, const NodeRecord& node, StatusReport& report) const {
  StatusReport::Node entry{.name = node.name,
                           .endpoint = node.endpoint,
                           .host = node.host,
                           .state = std::string(state_name(node)),
                           .since_heartbeat = now - node.last_heard,
                           .in_state = now - node.state_since};
  for (const SegmentIndex index : node.segments) {
    const Space& space = segments_[index]->space;
    entry.capacity += space.capacity();
    entry.used += space.used();
    entry.quarantined += space.quarantined();
    entry.objects += space.extents();
    entry.only_here += catalog_.only_in(index);
  }
  if (node.state != NodeState::shown) {
    report.hidden_objects += entry.only_here;
    report.hidden_capacity += entry.capacity;
    report.hidden_used += entry.used;
    report.hidden_quarantined += entry.quarantined;
  }
  if (!node.quarantine.empty()) {
    entry.oldest_quarantine = now - node.quarantine.front().since;
    if (report.oldest_quarantine_holder.empty() ||
        entry.oldest_quarantine > report.oldest_quarantine) {
      report.oldest_quarantine = entry.oldest_quarantine;
      report.oldest_quarantine_holder = node.name;
    }
  }
  report.nodes.push_back(std::move(entry));
}

void Master::State::check_invariants() const {
  catalog_.check_invariants();
  LARDER_ASSERT(shown_capacity_ == use().capacity);
  check_puts();
  check_retirements();
  // Every extent of a segment has one owner: an object, an unfinished put or a quarantine.
  std::map<std::pair<SegmentIndex, std::uint64_t>, const void*> owners;
  std::size_t unfinished = 0;
  for (std::uint32_t slot = 0; slot < catalog_.slots(); ++slot) {
    const Object* object = catalog_.at(slot);
    if (object == nullptr) continue;
    unfinished += object->unfinished() ? 1 : 0;
    for (const Replica& replica : object->replicas) {
      if (replica.segment == no_segment) continue;
      const Segment* segment = segments_[replica.segment].get();
      LARDER_ASSERT(segment != nullptr, "a replica's segment is known");
      LARDER_ASSERT(replica.state ==
                    (object->unfinished() ? ReplicaState::processing : ReplicaState::complete));
      LARDER_ASSERT(segment->space.valid(replica.extent));
      LARDER_ASSERT(segment->space.range(replica.extent).offset == replica.offset);
      LARDER_ASSERT(segment->space.state(replica.extent) == ExtentState::used);
      const bool alone =
          owners.emplace(std::pair(replica.segment, replica.offset.value), object).second;
      LARDER_ASSERT(alone, "two live objects never share an extent");
    }
  }
  LARDER_ASSERT(unfinished == puts_.size());
  std::size_t quarantined = 0;
  for (const auto& node : nodes_) {
    if (node == nullptr) continue;
    std::uint64_t sequence = 0;
    for (const Quarantined& record : node->quarantine) {
      ++quarantined;
      LARDER_ASSERT(record.sequence > sequence, "quarantines are in order");
      sequence = record.sequence;
      LARDER_ASSERT(record.replica.state == ReplicaState::removed ||
                    record.replica.state == ReplicaState::failed);
      const Segment& segment = *segments_[record.replica.segment];
      LARDER_ASSERT(segment.space.state(record.replica.extent) == ExtentState::quarantined);
      const bool alone =
          owners.emplace(std::pair(record.replica.segment, record.replica.offset.value), &record)
              .second;
      LARDER_ASSERT(alone, "what is in quarantine belongs to nobody else");
    }
    for (const SegmentIndex index : node->segments) {
      LARDER_ASSERT(segments_[index]->shown == (node->state == NodeState::shown));
    }
  }
  LARDER_ASSERT(quarantined == quarantine_.size());
  std::map<SegmentIndex, std::size_t> extents;
  for (const auto& [place, owner] : owners) ++extents[place.first];
  for (SegmentIndex index = 0; index < segments_.size(); ++index) {
    const Segment* segment = segments_[index].get();
    if (segment == nullptr || nodes_[segment->node]->state == NodeState::lost) continue;
    segment->space.check_invariants();
    LARDER_ASSERT(segment->space.extents() == extents[index], "no extent leaks");
  }
}

void Master::State::check_puts() const {
  PutId before;
  Bytes waiting;
  Bytes granted;
  std::size_t over_share = 0;
  std::map<SessionId, Bytes> held;
  for (const Put& put : puts_by_age_) {
    LARDER_ASSERT(before < put.object->put_id, "put ids grow");
    before = put.object->put_id;
    LARDER_ASSERT(sessions_.contains(put.session->id));
    LARDER_ASSERT(put.waiting == put.by_wait.is_linked());
    LARDER_ASSERT(!put.waiting || put.object->replicas.empty());
    over_share += put.waiting && put.over_share;
    if (put.waiting && !put.over_share) waiting += put.charged;
    LARDER_ASSERT(put.waiting || put.charged == extents_of(*put.object));
    if (!put.waiting) granted += put.charged;
    held[put.session->id] += put.charged;
  }
  LARDER_ASSERT(puts_by_age_.size() == puts_.size() && puts_by_deadline_.size() == puts_.size());
  LARDER_ASSERT(waiting == waiting_bytes_ && over_share == over_share_);
  LARDER_ASSERT(granted == granted_bytes_);
  for (std::uint32_t slot = 0; slot < quarantine_.slots(); ++slot) {
    const Quarantined* record = quarantine_.at(slot);
    if (record == nullptr) continue;
    const auto session = sessions_.find(record->charged.id);
    if (session == sessions_.end() || session->second->life != record->charged.life) continue;
    held[record->charged.id] +=
        segments_[record->replica.segment]->space.range(record->replica.extent).length;
  }
  for (const auto& [id, session] : sessions_) LARDER_ASSERT(session->held == held[id]);
}

void Master::State::check_retirements() const {
  std::size_t quarantined = 0;
  std::size_t waiters = 0;
  for (const auto& [key, of_key] : retirements_) {
    for (const std::uint32_t slot : of_key.quarantined) {
      LARDER_ASSERT(quarantine_.at(slot) != nullptr && quarantine_.at(slot)->key == key);
    }
    for (const RetirementWaiter& waiter : of_key.waiters) {
      const bool waits = std::ranges::any_of(of_key.quarantined, [&](std::uint32_t slot) {
        return quarantine_.at(slot)->name.put_id < waiter.below;
      });
      LARDER_ASSERT(waits, "nobody waits for nothing");
    }
    LARDER_ASSERT(!of_key.quarantined.empty());
    quarantined += of_key.quarantined.size();
    waiters += of_key.waiters.size();
  }
  LARDER_ASSERT(quarantined == quarantine_.size(), "quarantine is indexed by key");
  LARDER_ASSERT(waiters == removals_waiting_);
}

std::uint64_t Master::State::digest(Time now) const {
  Digest digest;
  digest.add(identity_.epoch.value).add(next_counter_).add(recovering_ ? 1 : 0);
  catalog_.add_to(digest, now);
  for (const auto& node : nodes_) {
    if (node == nullptr) continue;
    digest.add(node->incarnation.high).add(node->incarnation.low).add(std::uint64_t(node->state));
    digest.add(node->registration).add(node->next_part).add(node->reported ? 1 : 0);
    digest.add(static_cast<std::uint64_t>((now - node->last_heard).count()));
    for (const Quarantined& record : node->quarantine) {
      digest.add(record.name.put_id.epoch.value).add(record.name.put_id.counter);
      digest.add(record.replica.segment).add(record.replica.offset.value);
    }
  }
  for (const Put& put : puts_by_age_) {
    digest.add(put.object->put_id.counter).add(put.waiting ? 1 : 0);
    digest.add(static_cast<std::uint64_t>((put.deadline - now).count()));
  }
  // Hash tables are walked in no order; their digests are added up.
  std::uint64_t sum = 0;
  for (const auto& [id, session] : sessions_) {
    Digest own;
    own.add(id.high).add(id.low).add(session->lowest_unanswered).add(session->calls.size());
    own.add(session->held.value);
    for (const auto& call : session->calls) own.add(call->number).add(call->begun);
    own.add(static_cast<std::uint64_t>((now - session->last_heard).count()));
    sum += own.value();
  }
  return digest.add(sum).add(eviction_digest_.value()).value();
}

}  // namespace larder
