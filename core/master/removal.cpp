#include "core/base/assert.h"
#include "core/master/state.h"

namespace larder {

void Master::State::handle(Step& step, Caller caller, const Remove& request) {
  const std::optional<OpenCall> open = open_call(step, caller, request.items.size());
  if (!open) return;
  for (std::uint32_t i = 0; i < request.items.size(); ++i) {
    const AnswerAddress address{open->session.ref(), open->call.number, i};
    const Result<bool> removed = remove(step, *open, request.items[i].key, request.force, address);
    if (!removed) {
      answer(step, *open, i, std::unexpected(removed.error()));
    } else if (*removed) {
      answer(step, *open, i, Done{});
    }
  }
}

// Unreadable at once; answered when every extent of every older put of the key is retired.
Result<bool> Master::State::remove(Step& step, const OpenCall& open, std::string_view text,
                                   bool force, const AnswerAddress& address) {
  LARDER_TRY(const Catalog::Name key, key_of(open.session.tenant, text));
  LARDER_CHECK(recovered());
  const Catalog::Versions versions = catalog_.find(key);
  if (versions.current != nullptr && !force &&
      Catalog::unit(*versions.current).lease.leased(step.now)) {
    const Duration left = Catalog::unit(*versions.current).lease.left(step.now);
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    return failed(ErrorCode::object_has_lease, "it was looked up, and is protected for " +
                                                   std::to_string(ms) +
                                                   " ms more unless the removal is forced");
  }
  if (removals_waiting_ >= config_.pending_removals_max) {
    return failed(ErrorCode::busy,
                  std::to_string(removals_waiting_) + " removals wait for retirement");
  }
  const bool existed = versions.current != nullptr && versions.current->expires > step.now;
  if (versions.unfinished != nullptr) fail_put(step, *versions.unfinished->put);
  if (versions.current != nullptr) {
    remove_object(step, *versions.current, existed ? Gone::removed : Gone::expired);
  }
  const std::optional<ErrorCode> then =
      existed ? std::nullopt : std::optional(ErrorCode::object_not_found);
  const Fingerprint name = fingerprint(catalog_.tenant_name(open.session.tenant), text);
  const PutId all{identity_.epoch, next_counter_};
  if (wait_for_older(step, name, {.below = all, .address = address, .then = then})) return false;
  if (then) return failed(*then);
  return true;
}

// A COMPLETE object leaves: all its replicas are retired.
void Master::State::remove_object(Step& step, Object& object, Gone why) {
  LARDER_ASSERT(!object.unfinished());
  for (const Replica& replica : object.replicas) {
    retire(step, object, replica, ReplicaEvent::take_away, {});
  }
  switch (why) {
    case Gone::evicted:
      eviction_digest_.add(catalog_.tenant_name(object.tenant)).add(object.key());
      note_event(step, ObjectEvent::Kind::evicted, object);
      break;
    case Gone::expired:
      note_event(step, ObjectEvent::Kind::expired, object);
      break;
    case Gone::bad:
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
