#include "core/protocol/identity.h"

#include "core/base/assert.h"

namespace larder {
namespace {

void add_locations(const ReplicaLocations& places, Identity& identity) {
  identity.add(places.size());
  for (const ReplicaLocation& place : places) identity.add(place.segment).add(place.offset);
}

void add_checksum(const std::optional<std::uint64_t>& checksum, Identity& identity) {
  identity.add(checksum.has_value()).add(checksum.value_or(0));
}

void add_names(const std::vector<ExtentName>& names, Identity& identity) {
  identity.add(names.size());
  for (const ExtentName& name : names) add_identity(name, identity);
}

}  // namespace

void add_identity(const ExtentName& name, Identity& identity) {
  identity.put(name.put_id).add(name.location.segment).add(name.location.offset);
}

void add_identity(const Answer& answer, Identity& identity) {
  if (!answer) {
    identity.add(~std::uint64_t{0}).add(static_cast<std::uint64_t>(answer.error().code()));
    return;
  }
  identity.add(answer->index());
  if (const auto* opened = std::get_if<SessionOpened>(&*answer)) {
    identity.add(opened->epoch.value).add(opened->instance).add(opened->resumed);
  } else if (const auto* grant = std::get_if<PutGrant>(&*answer)) {
    identity.put(grant->put_id).add(grant->time_allowed);
    add_locations(grant->replicas, identity);
  } else if (const auto* list = std::get_if<ReplicaList>(&*answer)) {
    identity.put(list->put_id).add(list->size);
    add_checksum(list->checksum, identity);
    identity.name(Identity::Kind::lease_round, 0, list->lease.round).add(list->lease.duration);
    add_locations(list->replicas, identity);
  } else if (const auto* existence = std::get_if<Existence>(&*answer)) {
    identity.add(existence->exists).add(existence->lease);
  } else if (const auto* segment = std::get_if<SegmentDescription>(&*answer)) {
    identity.add(segment->id).add(segment->incarnation).add(segment->endpoint);
  } else if (const auto* registered = std::get_if<NodeRegistered>(&*answer)) {
    identity.add(registered->epoch.value).add(registered->instance).add(registered->heartbeat);
    identity.add(registered->retire_everything).puts_below(registered->lowest_unfinished);
  }
}

void add_identity(const RequestBody& body, Identity& identity) {
  identity.add(body.index());
  if (const auto* registers = std::get_if<RegisterNode>(&body)) {
    identity.add(registers->incarnation).add(registers->registration);
    identity.add(registers->taken_epoch.value);
  } else if (const auto* report = std::get_if<ReportInventory>(&body)) {
    identity.add(report->incarnation).add(report->registration).add(report->part);
    identity.add(report->last).add(report->items.size());
    for (const ReportInventory::Item& item : report->items) {
      add_identity(item.extent, identity);
      identity.add(item.retiring).add(item.record.key).add(item.record.size);
      add_checksum(item.checksum, identity);
    }
  } else if (const auto* beat = std::get_if<Heartbeat>(&body)) {
    identity.add(beat->incarnation).add(beat->registration).add(beat->fill_queue);
  } else if (const auto* confirmed = std::get_if<ConfirmRetirement>(&body)) {
    identity.add(confirmed->incarnation).add(confirmed->registration);
    add_names(confirmed->retired, identity);
    identity.add(confirmed->held.size());
    for (const ConfirmRetirement::Held& held : confirmed->held) {
      add_identity(held.extent, identity);
      identity.add(held.at_most);
    }
  } else if (const auto* corrupt = std::get_if<ReportCorrupt>(&body)) {
    identity.add(corrupt->incarnation).add(corrupt->registration).add(corrupt->extents.size());
    for (const ReportCorrupt::Extent& each : corrupt->extents) {
      add_identity(each.name, identity);
      identity.add(each.key);
    }
  } else if (const auto* ends = std::get_if<UnregisterNode>(&body)) {
    identity.add(ends->incarnation).add(ends->registration);
  } else {
    LARDER_ASSERT(false, "no node asks this");
  }
}

void add_identity(const Command& command, Identity& identity) {
  identity.add(command.incarnation).add(command.epoch.value).add(command.instance);
  identity.puts_below(command.lowest_unfinished).add(command.body.index());
  if (const auto* retire = std::get_if<RetireExtents>(&command.body)) {
    add_names(retire->extents, identity);
  } else if (const auto* again = std::get_if<VerifyExtents>(&command.body)) {
    add_names(again->extents, identity);
  } else {
    identity.add(std::get<InventoryTaken>(command.body).registration);
  }
}

}  // namespace larder
