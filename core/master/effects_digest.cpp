#include "core/master/effects_digest.h"

#include <variant>

namespace larder {
namespace {

std::uint64_t number(Duration duration) { return static_cast<std::uint64_t>(duration.count()); }

template <class Tag>
void add(Digest& digest, const Id<Tag>& id) {
  digest.add(id.high).add(id.low);
}
void add(Digest& digest, PutId id) { digest.add(id.epoch.value).add(id.counter); }
void add(Digest& digest, const ReplicaLocation& place) {
  add(digest, place.segment);
  digest.add(place.offset.value);
}
void add(Digest& digest, const ReplicaLocations& places) {
  for (const ReplicaLocation& place : places) add(digest, place);
}

void add(Digest&, const Done&) {}
void add(Digest& digest, const SessionOpened& opened) {
  digest.add(opened.epoch.value).add(opened.resumed ? 1 : 0).add(number(opened.lease));
}
void add(Digest& digest, const PutGrant& grant) {
  add(digest, grant.put_id);
  digest.add(number(grant.time_allowed));
  add(digest, grant.replicas);
}
void add(Digest& digest, const ReplicaList& list) {
  add(digest, list.put_id);
  digest.add(list.size.value).add(list.checksum.value_or(0));
  digest.add(std::uint64_t{list.lease.slot} << 32 | list.lease.round);
  digest.add(number(list.lease.duration));
  add(digest, list.replicas);
}
void add(Digest& digest, const Existence& existence) {
  digest.add(existence.exists ? 1 : 0).add(number(existence.lease));
}
void add(Digest& digest, const ObjectDetails& details) {
  for (const auto& version : details.versions) {
    add(digest, version.put_id);
    digest.add(version.state).add(version.size.value).add(number(version.age));
    digest.add(number(version.lease)).add(version.replicas.size());
  }
}
void add(Digest& digest, const SegmentDescription& segment) {
  add(digest, segment.id);
  digest.add(segment.endpoint).add(segment.size.value);
}
void add(Digest& digest, const NodeRegistered& registered) {
  digest.add(registered.epoch.value).add(registered.retire_everything ? 1 : 0);
  add(digest, registered.lowest_unfinished);
}
void add(Digest& digest, const ObjectPage& page) {
  for (const auto& item : page.items) digest.add(item.key).add(item.size.value).add(item.readable);
  if (page.next) digest.add(page.next->next).add(page.next->end);
}
void add(Digest&, const StatusReport&) {}
void add(Digest& digest, const QuiesceReport& report) {
  digest.add(report.put_bytes_max.value).add(report.evicted_objects).add(report.eviction_digest);
}

void add(Digest& digest, const NodeKnown& known) {
  add(digest, known.incarnation);
  digest.add(known.name);
}
void add(Digest& digest, const NodeLost& lost) { add(digest, lost.incarnation); }
void add(Digest& digest, const RecoveryEnded& ended) { digest.add(ended.epoch.value); }
void add(Digest& digest, const NewerEpoch& newer) { digest.add(newer.epoch.value); }

void add(Digest& digest, const RetireExtents& retire) {
  for (const auto& extent : retire.extents)
    add(digest, extent.put_id), add(digest, extent.location);
}
void add(Digest& digest, const VerifyExtents& verify) {
  for (const auto& extent : verify.extents)
    add(digest, extent.put_id), add(digest, extent.location);
}
void add(Digest& digest, const InventoryTaken& taken) { digest.add(taken.registration); }

void add_value(Digest& digest, const auto& value) {
  digest.add(value.index());
  std::visit([&](const auto& own) { larder::add(digest, own); }, value);
}

}  // namespace

void EffectsDigest::add(Ticket ticket, std::uint32_t index, const Answer& answer) {
  digest_.add(ticket).add(index);
  if (answer) {
    add_value(digest_, *answer);
  } else {
    digest_.add(static_cast<std::uint32_t>(answer.error().code()));
  }
}

void EffectsDigest::add(const StateRecord& record) { add_value(digest_, record); }

void EffectsDigest::add(const Command& command) {
  larder::add(digest_, command.incarnation);
  larder::add(digest_, command.lowest_unfinished);
  add_value(digest_, command.body);
}

}  // namespace larder
