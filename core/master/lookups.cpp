#include <algorithm>

#include "core/base/assert.h"
#include "core/master/state.h"

namespace larder {

Status Master::State::check_key(std::string_view key) {
  if (!key.empty() && key.size() <= key_bytes_max) return {};
  return failed(ErrorCode::invalid_key, "a key has 1 to " + std::to_string(key_bytes_max) +
                                            " bytes, this one has " + std::to_string(key.size()));
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
  if (object == nullptr || catalog_.expires(*object) <= now || !visible(*object)) return nullptr;
  return object;
}

// Why a key has nothing to be read, where there is something to say.
std::unexpected<Error> Master::State::not_readable(Time now, const Catalog::Name& key) const {
  const Object* object = catalog_.find(key).current;
  if (object == nullptr || catalog_.expires(*object) <= now)
    return failed(ErrorCode::object_not_found);
  std::string text = "its value is on nodes that do not answer now:";
  for (const Replica& replica : object->replicas) {
    const NodeRecord& node = *nodes_[segments_[replica.segment]->node];
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now - node.last_heard);
    text += " " + node.name + " (" + std::string(state_name(node)) + ", heard of " +
            std::to_string(ms.count()) + " ms ago)";
  }
  return failed(ErrorCode::object_not_found, std::move(text));
}

void Master::State::handle(Step& step, Caller caller, const GetReplicaList& request) {
  Session* session = session_of(step, caller);
  if (session == nullptr) return;
  Lookahead keys(catalog_, session->tenant, std::span(request.items).first(caller.end),
                 caller.first);
  for (std::uint32_t i = caller.first; i < caller.end; ++i) {
    const auto look = [&]() -> Answer {
      counted_gets_ += request.again ? 0 : 1;
      const Catalog::Name& key = keys[i];
      LARDER_CHECK(check_key(key.text));
      Object* object = readable(step.now, key);
      if (object == nullptr) return not_readable(step.now, key);
      counted_hits_ += request.again ? 0 : 1;
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
  Session* session = session_of(step, caller);
  if (session == nullptr) return;
  Lookahead keys(catalog_, session->tenant, std::span(request.items).first(caller.end),
                 caller.first);
  for (std::uint32_t i = caller.first; i < caller.end; ++i) {
    const auto look = [&]() -> Answer {
      const Catalog::Name& key = keys[i];
      LARDER_CHECK(check_key(key.text));
      Object* object = readable(step.now, key);
      if (object == nullptr) return Existence{};
      catalog_.grant_exists_lease(*object, step.now, step.now + config_.timing.exists_lease);
      return Existence{.exists = true, .lease = catalog_.unit(*object).lease.left(step.now)};
    };
    step.effects.answers.answer(caller.ticket, i, look());
  }
}

void Master::State::handle(Step& step, Caller caller, const DescribeSegments& request) {
  for (std::uint32_t i = caller.first; i < caller.end; ++i) {
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
