#include "core/protocol/identity.h"
#include "core/node/node.h"

// What a node is for a search. Left out is what nobody can tell any more: how many fills, reads and
// tickets there were, when an extent was sealed (only an age in reports), its counters for people.

namespace larder {

void Node::add_identity(Identity& identity, Time now) const {
  add_extents(identity, now);
  identity.add(reads_.size()).unordered(reads_, [&](const auto& entry) {
    const auto& [id, read] = entry;
    identity.name(Identity::Kind::read, IdHash{}(incarnation_), id.value)
        .add(read.place.has_value());
    if (read.place) larder::add_identity(read.place->name(), identity);
    identity.until(read.due, now).add(read.verifies);
  });
  identity.puts_below(ended_.floor());
  for (const ExtentName& each : ended_.remembered()) {
    if (identity.names(each.put_id)) larder::add_identity(each, identity);
  }
  add_link(identity, now);
}

void Node::add_extents(Identity& identity, Time now) const {
  for (const auto& [id, segment] : segments_) {
    identity.add(id).add(segment.extents.size());
    for (const auto& [key, extent] : segment.extents) {
      identity.add(key.offset).put(key.put_id);
      identity.add(extent.record.size()).add(extent.record.key()).add(extent.record.tenant());
      identity.add(static_cast<std::uint64_t>(extent.state)).add(extent.reads);
      identity.add(extent.has_checksum).add(extent.checksum).add(extent.held_told);
      identity.until(extent.read_until, now);
      const ObjectRecord record = extent.record.at(now);
      identity.add(record.group).add(record.parent).add(record.hard_pin);
      identity.add(record.soft_pin).add(record.time_to_live);
      identity.name(Identity::Kind::fill, IdHash{}(incarnation_), extent.fill.value);
      if (const auto fill = fills_.find(extent.fill); fill != fills_.end()) {
        add_fill(fill->second, identity, now);
      }
    }
  }
}

void Node::add_fill(const Fill& fill, Identity& identity, Time now) const {
  identity.add(static_cast<std::uint64_t>(fill.stage)).add(fill.connection.value);
  identity.add(fill.last_part).add(fill.orphaned).add(fill.older);
  identity.add(fill.expected.has_value()).add(fill.expected.value_or(0));
  identity.add(fill.received).add(fill.part_length).add(fill.moved);
  identity.until(fill.deadline, now).until(fill.due, now);
  // Else nobody asks how fast it is.
  if (fills_in_flight_ >= config_.fill_slots) identity.since(fill.began, now);
}

void Node::add_link(Identity& identity, Time now) const {
  identity.add(epoch_.value).add(instance_).add(taken_epoch_.value).add(registration_);
  identity.add(static_cast<std::uint64_t>(link_)).add(lost_).add(finished_told_);
  const auto add_cursor = [&](const Cursor& cursor) {
    identity.add(cursor.segment).add(cursor.extent.has_value());
    if (cursor.extent) identity.add(cursor.extent->offset).put(cursor.extent->put_id);
  };
  identity.add(retiring_all_).add(retire_cursor_.has_value());
  if (retire_cursor_) add_cursor(*retire_cursor_);
  if (link_ == Link::reporting) {
    add_cursor(report_cursor_);
    identity.add(report_part_).add(report_last_);
  }
  identity.add(heartbeat_).until(heartbeat_at_, now).until(register_at_, now);
  for (const Awaited& one : awaited_) {
    identity.name(Identity::Kind::node_ticket, IdHash{}(incarnation_), one.ticket);
    identity.until(one.deadline, now);
  }
  for (const auto* list : {&confirm_, &held_, &corrupt_}) {
    identity.add(list->size());
    for (const ExtentName& name : *list) larder::add_identity(name, identity);
  }
  identity.add(corrupt_sent_);
}

}  // namespace larder
