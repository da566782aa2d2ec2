#include "core/base/assert.h"
#include "core/master/state.h"

namespace larder {

void Master::State::handle(Step& step, Caller caller, const Remove& request) {
  const std::optional<OpenCall> open = open_call(step, caller);
  if (!open) return;
  Lookahead keys(catalog_, open->session.tenant, std::span(request.items).first(open->end),
                 open->first);
  for (std::uint32_t i = open->first; i < open->end; ++i) {
    const AnswerAddress address{open->session.ref(), open->call.number, i};
    const Result<bool> removed = remove(step, keys[i], request.force, address);
    if (!removed) {
      answer(step, *open, i, std::unexpected(removed.error()));
    } else if (*removed) {
      answer(step, *open, i, Done{});
    }
  }
}

// Unreadable at once; answered when every extent of every older put of the key is retired.
Result<bool> Master::State::remove(Step& step, const Catalog::Name& key, bool force,
                                   const AnswerAddress& address) {
  LARDER_CHECK(check_key(key.text));
  LARDER_CHECK(recovered());
  const Catalog::Versions versions = catalog_.find(key);
  if (versions.current != nullptr && !force &&
      catalog_.unit(*versions.current).lease.leased(step.now)) {
    const Duration left = catalog_.unit(*versions.current).lease.left(step.now);
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    return failed(ErrorCode::object_has_lease, "it was looked up, and is protected for " +
                                                   std::to_string(ms) +
                                                   " ms more unless the removal is forced");
  }
  if (removals_waiting_ >= config_.pending_removals_max) {
    return failed(ErrorCode::busy,
                  std::to_string(removals_waiting_) + " removals wait for retirement");
  }
  const bool existed =
      versions.current != nullptr && catalog_.expires(*versions.current) > step.now;
  if (versions.unfinished != nullptr) fail_put(step, put_of(*versions.unfinished));
  if (versions.current != nullptr) {
    remove_object(step, *versions.current, existed ? Gone::removed : Gone::expired);
  }
  const std::optional<ErrorCode> then =
      existed ? std::nullopt : std::optional(ErrorCode::object_not_found);
  const PutId all{identity_.epoch, next_counter_};
  if (wait_for_older(fingerprint_of(key), {.below = all, .address = address, .then = then})) {
    return false;
  }
  if (then) return failed(*then);
  return true;
}

// A COMPLETE object leaves: all its replicas are retired.
void Master::State::remove_object(Step& step, Object& object, Gone why) {
  LARDER_ASSERT(!object.unfinished());
  for (const Replica& replica : object.replicas) {
    retire(step, object, replica, ReplicaEvent::take_away, {});
  }
  ++gone_[why];
  switch (why) {
    case Gone::evicted:
      eviction_digest_.add(catalog_.tenant_name(object.tenant)).add(object.key());
      note_event(step, ObjectEvent::Kind::evicted, object);
      break;
    case Gone::expired:
      note_event(step, ObjectEvent::Kind::expired, object);
      break;
    case Gone::bad:
    case Gone::lost:
      note_event(step, ObjectEvent::Kind::lost, object);
      break;
    case Gone::removed:
    case Gone::replaced:
      note_event(step, ObjectEvent::Kind::removed, object);
      break;
  }
  catalog_.erase(object);
}

void Master::State::expire_objects(Step& step) {
  constexpr int objects_per_step = 1024;
  for (int i = 0; i < objects_per_step; ++i) {
    Object* object = catalog_.pop_expired(step.now);
    if (object == nullptr) break;
    remove_object(step, *object, Gone::expired);
  }
  for (int i = 0; i < objects_per_step; ++i) {
    if (!catalog_.end_soft_pin(step.now)) break;
  }
}

void Master::State::note_event(Step& step, ObjectEvent::Kind kind, const Object& object) {
  if (!config_.object_events) return;
  step.effects.events.push_back({.kind = kind,
                                 .tenant = std::string(catalog_.tenant_name(object.tenant)),
                                 .key = std::string(object.key())});
}

}  // namespace larder
