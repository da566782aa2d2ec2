#include <algorithm>

#include "core/base/assert.h"
#include "core/master/state.h"
#include "core/protocol/extent_shape.h"

namespace larder {

void Master::State::handle(Step& step, Caller caller, const ReportInventory& request) {
  const auto take = [&]() -> Answer {
    LARDER_TRY(NodeRecord* const node, known_node(request.incarnation, request.registration));
    hear(step, *node);
    if (request.part < node->next_part) return Done{};  // it came twice
    if (request.part > node->next_part || node->reported) {
      return failed(ErrorCode::invalid_params,
                    "part " + std::to_string(request.part) + " of a report after part " +
                        std::to_string(node->next_part) + " was expected");
    }
    for (const ReportInventory::Item& item : request.items) take_item(step, *node, item);
    ++node->next_part;
    if (awaited_.contains(node->incarnation)) part_taken_ = step.now;
    if (request.last) finish_report(step, *node);
    return Done{};
  };
  step.effects.answers.answer(caller.ticket, 0, take());
}

// Whether the extent is one that this master has in its books.
bool Master::State::known(NodeRecord& node, SegmentIndex index, const ReportInventory::Item& item) {
  const Segment& segment = *segments_[index];
  const auto quarantined = segment.quarantined.find(item.extent.location.offset.value);
  if (quarantined != segment.quarantined.end()) {
    return quarantine_.at(quarantined->second)->name == item.extent;
  }
  const std::optional<TenantId> tenant = catalog_.find_tenant(item.record.tenant);
  if (!tenant) return false;
  const Catalog::Versions versions = catalog_.find(Catalog::name(*tenant, item.record.key));
  for (Object* object : {versions.current, versions.unfinished}) {
    if (object == nullptr || object->put_id != item.extent.put_id) continue;
    for (Replica& replica : object->replicas) {
      if (replica.segment != index || replica.offset != item.extent.location.offset) continue;
      // A copy that its node retires counts as not reported: the sweep takes it away.
      if (!item.retiring) replica.confirmed_by = static_cast<std::uint16_t>(node.registration);
      return true;
    }
  }
  return false;
}

void Master::State::take_item(Step& step, NodeRecord& node, const ReportInventory::Item& item) {
  const std::optional<SegmentIndex> index = find_segment(item.extent.location.segment);
  if (!index || segments_[*index]->node != node.index) return;
  const ObjectRecord& record = item.record;
  const bool nameable = !record.tenant.empty() && record.tenant.size() <= tenant_bytes_max &&
                        !record.key.empty() && record.key.size() <= key_bytes_max &&
                        record.group.size() <= key_bytes_max && record.size > 0_B;
  if (nameable && known(node, *index, item)) return;
  Segment& segment = *segments_[*index];
  const ExtentShape shape = extent_shape(record.size, segment.description.kind);
  const Result<ExtentId> extent =
      segment.space.take({item.extent.location.offset, shape.length}, ExtentState::used);
  if (!extent) {
    // It cannot stand where something else does, or outside: retired without a place in the books.
    tell(node);
    node.to_retire.push_back(item.extent);
    return;
  }
  Replica replica{.segment = *index,
                  .extent = *extent,
                  .confirmed_by = static_cast<std::uint16_t>(node.registration),
                  .offset = item.extent.location.offset};
  replica.advance(ReplicaEvent::take_up);
  if (nameable && !item.retiring && take_up(step, node, replica, item)) return;
  replica.advance(ReplicaEvent::take_away);
  quarantine(step, replica, item.extent, fingerprint(record.tenant, record.key), {});
}

// What is sealed is complete by definition; of two versions the higher put id wins. What this
// master itself granted, or had in its books before, and does not know any more was given up.
bool Master::State::take_up(Step& step, NodeRecord& node, const Replica& replica,
                            const ReportInventory::Item& item) {
  if (node.retires_everything || node.in_books) return false;
  if (item.extent.put_id.epoch >= identity_.epoch) return false;
  const ObjectRecord& record = item.record;
  const Result<TenantId> tenant = catalog_.tenant(record.tenant);
  if (!tenant) return false;
  const Catalog::Name key = Catalog::name(*tenant, record.key);
  if (Object* current = catalog_.find(key).current) {
    if (current->put_id > item.extent.put_id) return false;
    if (current->put_id == item.extent.put_id) {
      if (current->replicas.size() == replicas_max || current->size != record.size) return false;
      catalog_.add_replica(*current, replica,
                           segments_[replica.segment]->space.range(replica.extent).length);
      return true;
    }
    remove_object(step, *current, Gone::replaced);
  }
  const auto optional_name = [&](std::string_view text) {
    return text.empty() ? std::nullopt : std::optional(Catalog::name(*tenant, text));
  };
  std::optional<Catalog::Name> group = optional_name(record.group);
  if (group && !catalog_.group_has_room(*group)) group.reset();
  Object& object =
      catalog_.restore(key,
                       {.put_id = item.extent.put_id,
                        .size = record.size,
                        .hard_pin = record.hard_pin,
                        .group = group},
                       {.now = step.now,
                        .soft_pin = record.soft_pin,
                        .time_to_live = record.time_to_live,
                        .parent = optional_name(record.parent)},
                       replica, segments_[replica.segment]->space.range(replica.extent).length);
  object.has_checksum = item.checksum.has_value();
  object.checksum = item.checksum.value_or(0);
  // Leases that the older master granted are unknown, so nothing is freed before they are over.
  catalog_.hold(object, started_ + config_.timing.lease);
  note_event(step, ObjectEvent::Kind::stored, object);
  return true;
}

void Master::State::finish_report(Step& step, NodeRecord& node) {
  node.reported = true;
  node.in_books = true;
  node.show_after = quarantine_sequence_ + 1;
  awaited_.erase(node.incarnation);
  ask_again(step, node);
  if (!node.reconciled) sweeps_.push_back({node.index, node.incarnation, node.registration, 0});
  try_show(step, node);
  end_recovery(step);
}

Status Master::State::recovered() const {
  if (!recovering_) return {};
  return failed(ErrorCode::unavailable_in_current_status,
                "the master is still hearing what its nodes hold");
}

// Not in the midst of a report that goes on: what is not yet reported would be retired, however
// much it is.
Time Master::State::recovery_end() const {
  return std::max(started_ + config_.timing.recovery,
                  later(part_taken_, config_.timing.hidden_after_silence));
}

// Recovery is over when all known nodes have reported, or its time has passed. Who comes later
// retires everything, since what it holds may have been removed without it: but not what masters of
// another state directory led until now, so that a master started by mistake, or whose directory
// was lost or is an old one, does not empty a pool that is full.
void Master::State::end_recovery(Step& step) {
  if (!recovering_) return;
  if (!awaited_.empty() && step.now < recovery_end()) return;
  recovering_ = false;
  awaited_.clear();
  if (!durable_) return;
  recovered_epoch_ = identity_.epoch;
  step.effects.records.emplace_back(RecoveryEnded{identity_.epoch});
  for (const auto& node : nodes_) {
    if (node == nullptr || node->in_books || node->of_another_directory) continue;
    node->retires_everything = true;
  }
}

}  // namespace larder
