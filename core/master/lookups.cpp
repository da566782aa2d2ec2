#include <algorithm>

#include "core/base/assert.h"
#include "core/master/state.h"

namespace larder {

Result<Catalog::Name> Master::State::key_of(TenantId tenant, std::string_view key) const {
  if (key.empty() || key.size() > key_bytes_max) {
    return failed(ErrorCode::invalid_key, "a key has 1 to " + std::to_string(key_bytes_max) +
                                              " bytes, this one has " + std::to_string(key.size()));
  }
  return Catalog::name(tenant, key);
}

bool Master::State::visible(const Object& object) const {
  for (const Replica& replica : object.replicas) {
    if (replica.segment != no_segment && segments_[replica.segment]->shown) return true;
  }
  return false;
}

// Visible, on a node that has not just broken its connection. One that has is still answered (its
// bytes may be there), but does not keep a writer from storing the value again.
bool Master::State::reachable(const Object& object) const {
  return std::ranges::any_of(object.replicas, [&](const Replica& replica) {
    return replica.segment != no_segment && segments_[replica.segment]->shown &&
           nodes_[segments_[replica.segment]->node]->connected;
  });
}

ReplicaLocations Master::State::locations(const Object& object) const {
  ReplicaLocations list;
  for (const Replica& replica : object.replicas) {
    if (replica.segment == no_segment) continue;
    const Segment& segment = *segments_[replica.segment];
    if (segment.shown) list.push_back({segment.description.id, replica.offset});
  }
  return list;
}

// The version that a reader may be told of, if any.
Object* Master::State::readable(Time now, const Catalog::Name& key) const {
  const Catalog::Versions versions = catalog_.find(key);
  Object* object = versions.current;
  if (!config_.guards.state && versions.unfinished != nullptr) object = versions.unfinished;
  if (object == nullptr || object->expires <= now || !visible(*object)) return nullptr;
  return object;
}

void Master::State::handle(Step& step, Caller caller, const GetReplicaList& request) {
  Session* session = session_of(step, caller, request.items.size());
  if (session == nullptr) return;
  for (std::uint32_t i = 0; i < request.items.size(); ++i) {
    const auto look = [&]() -> Answer {
      ++counted_gets_;
      LARDER_TRY(const Catalog::Name key, key_of(session->tenant, request.items[i].key));
      Object* object = readable(step.now, key);
      if (object == nullptr) return failed(ErrorCode::object_not_found);
      ++counted_hits_;
      const Catalog::LeaseHandle lease =
          catalog_.grant_lease(*object, step.now, step.now + config_.timing.lease);
      ReplicaList list{.put_id = object->put_id,
                       .size = object->size,
                       .checksum = std::nullopt,
                       .lease = {lease.slot, lease.round, config_.timing.lease},
                       .replicas = locations(*object)};
      if (object->has_checksum) list.checksum = object->checksum;
      return list;
    };
    step.effects.answers.answer(caller.ticket, i, look());
  }
}

void Master::State::handle(Step& step, Caller caller, const Exists& request) {
  Session* session = session_of(step, caller, request.items.size());
  if (session == nullptr) return;
  for (std::uint32_t i = 0; i < request.items.size(); ++i) {
    const auto look = [&]() -> Answer {
      LARDER_TRY(const Catalog::Name key, key_of(session->tenant, request.items[i].key));
      Object* object = readable(step.now, key);
      if (object == nullptr) return Existence{};
      catalog_.grant_exists_lease(*object, step.now, step.now + config_.timing.exists_lease);
      return Existence{.exists = true, .lease = Catalog::unit(*object).lease.left(step.now)};
    };
    step.effects.answers.answer(caller.ticket, i, look());
  }
}

void Master::State::handle(Step& step, Caller caller, const DescribeSegments& request) {
  for (std::uint32_t i = 0; i < request.items.size(); ++i) {
    const std::optional<SegmentIndex> index = find_segment(request.items[i]);
    if (index) {
      step.effects.answers.answer(caller.ticket, i, Answer(segments_[*index]->description));
    } else {
      step.effects.answers.answer(
          caller.ticket, i,
          failed(ErrorCode::segment_not_found, "no segment " + to_string(request.items[i])));
    }
  }
}

}  // namespace larder
