#include <algorithm>

#include "core/base/assert.h"
#include "core/master/state.h"

namespace larder {

std::optional<SegmentIndex> Master::State::find_segment(SegmentId id) const {
  const auto found = segment_index_.find(id);
  return found == segment_index_.end() ? std::nullopt : std::optional(found->second);
}

// The COMPLETE object of which `name` is a replica, and that replica.
Object* Master::State::holder(std::string_view tenant, std::string_view key, const ExtentName& name,
                              Replica** replica) {
  const std::optional<SegmentIndex> segment = find_segment(name.location.segment);
  if (!segment || key.empty() || key.size() > key_bytes_max) return nullptr;
  const std::optional<TenantId> id = catalog_.find_tenant(tenant);
  if (!id) return nullptr;
  Object* object = catalog_.find(Catalog::name(*id, key)).current;
  if (object == nullptr || object->put_id != name.put_id) return nullptr;
  for (Replica& candidate : object->replicas) {
    if (candidate.segment == *segment && candidate.offset == name.location.offset) {
      *replica = &candidate;
      return object;
    }
  }
  return nullptr;
}

// Below it every put has ended, one way or the other.
PutId Master::State::lowest_unfinished() const {
  if (!puts_by_age_.empty()) return puts_by_age_.front().object->put_id;
  return {identity_.epoch, next_counter_};
}

// Takes an extent out of use. Its space is free again when the node has confirmed that.
void Master::State::retire(Step& step, const Object& object, Replica replica, ReplicaEvent event,
                           SessionRef charged) {
  const Segment& segment = *segments_[replica.segment];
  replica.advance(event);
  const std::string_view tenant = catalog_.tenant_name(object.tenant);
  quarantine(step, replica,
             {.put_id = object.put_id, .location = {segment.description.id, replica.offset}},
             fingerprint(tenant, object.key()), charged);
}

void Master::State::quarantine(Step& step, Replica replica, const ExtentName& name,
                               const Fingerprint& key, SessionRef charged) {
  Segment& segment = *segments_[replica.segment];
  NodeRecord& node = *nodes_[segment.node];
  if (node.state == NodeState::lost) return;
  tell(node);
  node.to_retire.push_back(name);
  if (!config_.guards.retirement) {
    LARDER_ASSERT(segment.space.free(replica.extent).has_value());
    return;
  }
  if (segment.space.state(replica.extent) == ExtentState::used) {
    LARDER_ASSERT(segment.space.quarantine(replica.extent).has_value());
  }
  auto [record, slot] = quarantine_.emplace();
  record.slot = slot;
  record.sequence = ++quarantine_sequence_;
  record.name = name;
  record.replica = replica;
  record.node = node.index;
  record.key = key;
  record.since = step.now;
  record.charged = charged;
  if (Session* session = find_session(charged)) {
    session->held += segment.space.range(replica.extent).length;
  }
  if (node.quarantine.empty()) node.asked_at = step.now;
  node.quarantine.push_back(record);
  segment.quarantined.emplace(replica.offset.value, slot);
  retirements_[key].quarantined.push_back(slot);
  arm(node, step.now + config_.timing.retirement_retry);
}

// Its space is free (the node confirmed), or of no interest any more (the node is lost).
void Master::State::end_quarantine(Step& step, Quarantined& record, ReplicaEvent event) {
  Segment& segment = *segments_[record.replica.segment];
  NodeRecord& node = *nodes_[record.node];
  record.replica.advance(event);
  if (Session* session = find_session(record.charged)) {
    ease(*session, segment.space.range(record.replica.extent).length);
  }
  node.quarantine.erase(node.quarantine.iterator_to(record));
  segment.quarantined.erase(record.replica.offset.value);
  LARDER_ASSERT(segment.space.free(record.replica.extent).has_value());
  const Fingerprint key = record.key;
  KeyRetirements& of_key = retirements_.find(key)->second;
  of_key.quarantined.erase(std::ranges::find(of_key.quarantined, record.slot));
  quarantine_.erase(record.slot);
  eviction_blocked_ = false;
  wake_waiters(step, key);
}

// One copy of a COMPLETE object goes, and the object with its last one.
void Master::State::remove_replica(Step& step, Object& object, Replica& replica, Gone why) {
  if (object.replicas.size() == 1) {
    remove_object(step, object, why);
    return;
  }
  retire(step, object, replica, ReplicaEvent::take_away, {});
  catalog_.drop_replica(object, static_cast<std::size_t>(&replica - object.replicas.begin()),
                        segments_[replica.segment]->space.range(replica.extent).length);
}

// Whether an older put of the key is still to be retired.
bool Master::State::waits(const KeyRetirements& of_key, const RetirementWaiter& waiter) const {
  return std::ranges::any_of(of_key.quarantined, [&](std::uint32_t slot) {
    return quarantine_.at(slot)->name.put_id < waiter.below;
  });
}

Fingerprint Master::State::fingerprint_of(const Catalog::Name& key) const {
  return fingerprint(catalog_.tenant_name(key.tenant), key.text);
}

// False if there is nothing to wait for.
bool Master::State::wait_for_older(const Fingerprint& key, const RetirementWaiter& waiter) {
  const auto found = retirements_.find(key);
  if (found == retirements_.end()) return false;
  if (!waits(found->second, waiter)) return false;
  found->second.waiters.push_back(waiter);
  ++removals_waiting_;
  return true;
}

void Master::State::wake_waiters(Step& step, const Fingerprint& key) {
  const auto found = retirements_.find(key);
  if (found == retirements_.end()) return;
  KeyRetirements& of_key = found->second;
  decltype(of_key.waiters) ready;
  decltype(of_key.waiters) waiting;
  for (const RetirementWaiter& waiter : of_key.waiters) {
    (waits(of_key, waiter) ? waiting : ready).push_back(waiter);
  }
  of_key.waiters = std::move(waiting);
  if (of_key.quarantined.empty() && of_key.waiters.empty()) retirements_.erase(found);
  for (const RetirementWaiter& waiter : ready) {
    --removals_waiting_;
    answer_late(step, waiter.address, waiter.then ? Answer(failed(*waiter.then)) : Answer(Done{}));
  }
}

void Master::State::ask_again(Step& step, NodeRecord& node) {
  constexpr std::size_t extents_per_step = 4096;
  node.asked_at = step.now;
  tell(node);
  for (const Quarantined& record : node.quarantine) {
    if (record.sequence > step.told || node.to_retire.size() >= extents_per_step) break;
    node.to_retire.push_back(record.name);
  }
}

void Master::State::handle(Step& step, Caller caller, const ConfirmRetirement& request) {
  const Result<NodeRecord*> known = known_node(request.incarnation, request.registration);
  if (!known) {
    step.effects.answers.answer(caller.ticket, 0, std::unexpected(known.error()));
    return;
  }
  NodeRecord& node = **known;
  hear(step, node);
  const auto record_of = [&](const ExtentName& name) -> Quarantined* {
    const std::optional<SegmentIndex> index = find_segment(name.location.segment);
    if (!index || segments_[*index]->node != node.index) return nullptr;
    const auto& quarantined = segments_[*index]->quarantined;
    const auto found = quarantined.find(name.location.offset.value);
    if (found == quarantined.end()) return nullptr;
    Quarantined* record = quarantine_.at(found->second);
    return record->name.put_id == name.put_id ? record : nullptr;
  };
  // What it confirmed before its report was complete may have been meant for an older registration.
  if (node.reported) {
    for (const ExtentName& name : request.retired) {
      if (Quarantined* record = record_of(name)) {
        end_quarantine(step, *record, ReplicaEvent::retire);
      }
    }
    for (const ConfirmRetirement::Held& held : request.held) {
      const Duration limit = std::min(held.at_most, config_.timing.view_limit);
      if (Quarantined* record = record_of(held.extent)) record->held_until = step.now + limit;
    }
  }
  try_show(step, node);
  serve_waiting(step);
  answer_quiesce(step);
  step.effects.answers.answer(caller.ticket, 0, Done{});
}

void Master::State::handle(Step& step, Caller caller, const ReportCorrupt& request) {
  const Result<NodeRecord*> known = known_node(request.incarnation, request.registration);
  if (!known) {
    step.effects.answers.answer(caller.ticket, 0, std::unexpected(known.error()));
    return;
  }
  hear(step, **known);
  for (const ReportCorrupt::Extent& extent : request.extents) {
    Replica* replica = nullptr;
    Object* object = holder(extent.tenant, extent.key, extent.name, &replica);
    if (object == nullptr || segments_[replica->segment]->node != (*known)->index) continue;
    remove_replica(step, *object, *replica, Gone::bad);
  }
  step.effects.answers.answer(caller.ticket, 0, Done{});
}

}  // namespace larder
