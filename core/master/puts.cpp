#include <algorithm>

#include "core/base/assert.h"
#include "core/master/state.h"
#include "core/protocol/extent_shape.h"

namespace larder {
namespace {

std::optional<Catalog::Name> optional_name(TenantId tenant, std::string_view text) {
  return text.empty() ? std::nullopt : std::optional(Catalog::name(tenant, text));
}

// What one replica of it takes.
Bytes space_of(const Put& put) { return extent_shape(put.object->size).length; }

}  // namespace

// What the object takes of its segments, footers included.
Bytes Master::State::extents_of(const Object& object) const {
  Bytes total;
  for (const Replica& replica : object.replicas) {
    if (replica.segment != no_segment) {
      total += segments_[replica.segment]->space.range(replica.extent).length;
    }
  }
  return total;
}

Status Master::State::check_put(const PutStart::Item& item) const {
  if (item.size == 0_B) return failed(ErrorCode::invalid_params, "a value of zero bytes");
  if (item.size > config_.object_bytes_max) {
    return failed(ErrorCode::invalid_params, "a value of " + std::to_string(item.size.value) +
                                                 " bytes; the maximum is " +
                                                 std::to_string(config_.object_bytes_max.value));
  }
  if (item.replicas == 0 || item.replicas > replicas_max) {
    return failed(ErrorCode::invalid_params, std::to_string(item.replicas) + " replicas; 1 to " +
                                                 std::to_string(replicas_max) + " are possible");
  }
  if (item.group.size() > key_bytes_max || item.parent.size() > key_bytes_max) {
    return failed(ErrorCode::invalid_params, "the name of a group or parent has more than " +
                                                 std::to_string(key_bytes_max) + " bytes");
  }
  if (item.soft_pin < Duration(0) || item.time_to_live < Duration(0)) {
    return failed(ErrorCode::invalid_params, "a negative soft-pin time or time to live");
  }
  return {};
}

void Master::State::handle(Step& step, Caller caller, const PutStart& request) {
  const std::optional<OpenCall> open = open_call(step, caller, request.items.size());
  if (!open) return;
  const PutId first{identity_.epoch, next_counter_};
  next_counter_ += request.items.size();
  Bytes call_bytes;
  for (const PutStart::Item& item : request.items) {
    call_bytes += std::min(item.size, config_.object_bytes_max);
  }
  for (std::uint32_t i = 0; i < request.items.size(); ++i) {
    Result<std::optional<PutGrant>> started =
        start_put(step, open->session,
                  {.request = request,
                   .item = request.items[i],
                   .put_id = first.plus(i),
                   .call_bytes = call_bytes,
                   .address = {open->session.ref(), open->call.number, i}});
    if (!started) {
      answer(step, *open, i, std::unexpected(std::move(started).error()));
    } else if (*started) {
      answer(step, *open, i, **std::move(started));
    }
  }
}

Result<std::optional<PutGrant>> Master::State::start_put(Step& step, Session& session,
                                                         const StartedPut& start) {
  const PutStart::Item& item = start.item;
  LARDER_TRY(const Catalog::Name key, key_of(session.tenant, item.key));
  LARDER_CHECK(check_put(item));
  if (start.request.upsert) LARDER_CHECK(recovered());
  const Catalog::Versions versions = catalog_.find(key);
  if (!start.request.upsert && versions.current != nullptr && reachable(*versions.current) &&
      versions.current->expires > step.now) {
    return failed(ErrorCode::object_already_exists);
  }
  if (versions.unfinished != nullptr) {
    Put& other = *versions.unfinished->put;
    if (step.now < other.deadline) return failed(ErrorCode::put_in_flight);
    fail_put(step, other, no_room(other));
  }
  const std::optional<Catalog::Name> group = optional_name(session.tenant, item.group);
  if (group && !catalog_.group_has_room(*group)) {
    return failed(ErrorCode::invalid_params,
                  "the group has " + std::to_string(group_members_max) + " members already");
  }
  ++counted_puts_;
  Object& object = catalog_.add_unfinished(key, {.put_id = start.put_id,
                                                 .size = item.size,
                                                 .hard_pin = item.hard_pin,
                                                 .upsert = start.request.upsert,
                                                 .group = group});
  auto [put, slot] = puts_.emplace();
  object.put = &put;
  put.slot = slot;
  put.object = &object;
  put.session = session.id;
  put.address = start.address;
  put.replicas_wanted = item.replicas;
  put.call_bytes = start.call_bytes;
  put.soft_pin = item.soft_pin;
  put.time_to_live = item.time_to_live;
  put.parent = item.parent;
  put.preferred = start.request.preferred;
  put.avoid = start.request.avoid;
  puts_by_age_.push_back(put);
  session.puts.push_back(put);
  return assign_or_wait(step, session, put);
}

// Of what is unfinished or not yet retired, what one client may hold before its puts wait.
Bytes Master::State::share_of_client() const {
  const auto share = static_cast<std::uint64_t>(config_.client_share_max *
                                                static_cast<double>(use().capacity.value));
  return std::max(Bytes{share}, config_.client_bytes_min);
}

bool Master::State::within_share(const Session& session, const Put& put) const {
  return session.held == 0_B || session.held + space_of(put) <= share_of_client();
}

Result<std::optional<PutGrant>> Master::State::assign_or_wait(Step& step, Session& session,
                                                              Put& put) {
  put.over_share = !within_share(session, put);
  if (!put.over_share && place(step, session, put) > 0) return grant(step, session, put);

  const SpaceUse pool = use();
  Bytes largest;
  for (const SegmentIndex index : shown_) {
    largest = std::max(largest, segments_[index]->space.capacity());
  }
  const Bytes may_come =
      catalog_.order().bytes() + pool.quarantined + (pool.capacity - pool.allocated);
  const bool worth_waiting =
      put.over_share || (largest >= space_of(put) && may_come >= space_of(put));
  if (!worth_waiting || waiting_.size() + over_share_ >= config_.waiting_puts_max) {
    Error error = no_room(put);
    fail_put(step, put);
    return std::unexpected(std::move(error));
  }
  put.deadline = step.now + config_.timing.wait_for_space;
  put_deadlines_.arm(put.deadline, put.slot);
  if (put.over_share) {
    session.over_share.push_back(put);
    ++over_share_;
  } else {
    wait_for_space(session, put);
  }
  return std::optional<PutGrant>();
}

void Master::State::wait_for_space(Session& session, Put& put) {
  put.over_share = false;
  charge(session, put, space_of(put));
  waiting_.push_back(put);
  waiting_bytes_ += space_of(put);
}

PutGrant Master::State::grant(Step& step, Session& session, Put& put) {
  put.waiting = false;
  put.deadline = step.now + Timing::allowed(put.call_bytes);
  put_deadlines_.arm(put.deadline, put.slot);
  charge(session, put, extents_of(*put.object));
  PutGrant granted{.put_id = put.object->put_id,
                   .time_allowed = Timing::allowed(put.call_bytes),
                   .replicas = {}};
  for (const Replica& replica : put.object->replicas) {
    granted.replicas.push_back({segments_[replica.segment]->description.id, replica.offset});
  }
  return granted;
}

Error Master::State::no_room(const Put& put) const {
  const SpaceUse pool = use();
  Bytes largest;
  for (const SegmentIndex index : shown_) {
    largest = std::max(largest, segments_[index]->space.largest_free());
  }
  std::string detail;
  if (put.over_share) {
    detail = "the client's unfinished and not yet retired puts hold their share of " +
             std::to_string(share_of_client().value) + " bytes";
  } else if (shown_.empty()) {
    const auto joined = std::ranges::count_if(
        nodes_, [](const auto& node) { return node != nullptr && node->state != NodeState::lost; });
    detail = joined == 0 ? "no node has joined the pool"
                         : "none of the " + std::to_string(joined) +
                               " nodes of the pool is in use: silent, or still reporting";
  } else {
    detail = "the pool has " + std::to_string((pool.capacity - pool.allocated).value) + " of " +
             std::to_string(pool.capacity.value) + " bytes free, " + std::to_string(largest.value) +
             " in one piece, " + std::to_string(pool.quarantined.value) + " waiting for retirement";
  }
  return Error(ErrorCode::no_available_handle, std::move(detail)).with_size(put.object->size);
}

// Takes the put out of every list. The object stays.
void Master::State::forget_put(Put& put) {
  Session* session = find_session(put.session);
  LARDER_ASSERT(session != nullptr, "a put does not outlive its session");
  put_deadlines_.disarm(put.deadline, put.slot);
  if (put.by_wait.is_linked() && put.over_share) {
    session->over_share.erase(session->over_share.iterator_to(put));
    --over_share_;
  } else if (put.by_wait.is_linked()) {
    waiting_.erase(waiting_.iterator_to(put));
    waiting_bytes_ -= space_of(put);
  }
  puts_by_age_.erase(puts_by_age_.iterator_to(put));
  session->puts.erase(session->puts.iterator_to(put));
  ease(*session, put.charged);
  puts_.erase(put.slot);
}

// Revoked, timed out, taken over, or its writer lost.
void Master::State::fail_put(Step& step, Put& put, const Error& waiting) {
  Object& object = *put.object;
  const SessionRef session = put.address.session;
  if (put.by_wait.is_linked()) answer_late(step, put.address, std::unexpected(waiting));
  forget_put(put);
  for (const Replica& replica : object.replicas) {
    if (replica.segment != no_segment) {
      retire(step, object, replica, ReplicaEvent::give_up, session);
    }
  }
  catalog_.erase(object);
}

void Master::State::expire_puts(Step& step) {
  constexpr int puts_per_step = 1024;
  for (int i = 0; i < puts_per_step; ++i) {
    const std::optional<std::uint32_t> slot = put_deadlines_.pop(step.now);
    if (!slot) return;
    Put& put = *puts_.at(*slot);
    fail_put(step, put, put.waiting ? no_room(put) : Error(ErrorCode::cancelled));
  }
}

// What was over its client's share goes on when the client holds less.
void Master::State::serve_eased() {
  for (const SessionRef& ref : std::exchange(eased_, {})) {
    Session* session = find_session(ref);
    if (session == nullptr) continue;
    session->eased = false;
    while (!session->over_share.empty() && within_share(*session, session->over_share.front())) {
      Put& put = session->over_share.front();
      session->over_share.pop_front();
      --over_share_;
      wait_for_space(*session, put);
    }
  }
}

// First come first served, but a large one at the front does not hold up all others.
void Master::State::serve_waiting(Step& step) {
  constexpr int misses_max = 16;
  serve_eased();
  int misses = 0;
  for (auto at = waiting_.begin(); at != waiting_.end() && misses < misses_max;) {
    Put& put = *at;
    Session& session = *find_session(put.session);
    if (place(step, session, put) == 0) {
      ++misses;
      ++at;
      continue;
    }
    at = waiting_.erase(at);
    waiting_bytes_ -= space_of(put);
    put_deadlines_.disarm(put.deadline, put.slot);
    answer_late(step, put.address, grant(step, session, put));
  }
}

void Master::State::handle(Step& step, Caller caller, const PutEnd& request) {
  const std::optional<OpenCall> open = open_call(step, caller, request.items.size());
  if (!open) return;
  for (std::uint32_t i = 0; i < request.items.size(); ++i) {
    const AnswerAddress address{open->session.ref(), open->call.number, i};
    const Result<bool> ended = end_put(step, *open, request.items[i], address);
    if (!ended) {
      answer(step, *open, i, std::unexpected(ended.error()));
    } else if (*ended) {
      answer(step, *open, i, Done{});
    }
  }
}

Result<bool> Master::State::end_put(Step& step, const OpenCall& open, const PutEnd::Item& item,
                                    const AnswerAddress& address) {
  LARDER_TRY(const Catalog::Name key, key_of(open.session.tenant, item.key));
  if (item.put_id.epoch != identity_.epoch) return end_older_epoch(step, open, item, address);
  const Catalog::Versions versions = catalog_.find(key);
  const Fingerprint name = fingerprint(catalog_.tenant_name(open.session.tenant), item.key);
  Object* object = versions.unfinished;
  if (object != nullptr && object->put_id == item.put_id) {
    Put& put = *object->put;
    if (put.session != open.session.id) return failed(ErrorCode::illegal_client);
    if (put.waiting) return failed(ErrorCode::invalid_write, "the put has no space yet");
    if (step.now >= put.deadline) {
      fail_put(step, put);
      return failed(ErrorCode::invalid_write, "the time allowed for the put is over");
    }
    LARDER_CHECK(publish(step, put, item));
  } else if (versions.current == nullptr || versions.current->put_id != item.put_id) {
    return failed(ErrorCode::invalid_write, "put " + to_string(item.put_id) + " is not unfinished");
  }
  // A plain put takes nothing back: an older version was evicted, expired or hidden, and may be
  // retired later.
  if (!catalog_.find(key).current->upsert) return true;
  return !wait_for_older(step, name,
                         {.below = item.put_id, .address = address, .then = std::nullopt});
}

// The replicas that were sealed, on shown segments, become COMPLETE in one step; the others and all
// of the older version are retired.
Status Master::State::publish(Step& step, Put& put, const PutEnd::Item& item) {
  Object& object = *put.object;
  const auto sealed = [&](std::size_t i) {
    const Replica& replica = object.replicas[i];
    return (item.sealed >> i & 1) != 0 && replica.segment != no_segment &&
           segments_[replica.segment]->shown;
  };
  bool any = false;
  for (std::size_t i = 0; i < object.replicas.size(); ++i) any |= sealed(i);
  if (!any) {
    fail_put(step, put);
    return failed(ErrorCode::replica_is_gone,
                  "none of the put's replicas was sealed on a node that is there");
  }
  const Catalog::Name key{object.tenant, object.key(), object.key_hash};
  if (Object* older = catalog_.find(key).current) remove_object(step, *older, Gone::replaced);

  const SessionRef writer = put.address.session;
  const std::string parent = std::move(put.parent);
  const Catalog::Publication how{.now = step.now,
                                 .soft_pin = put.soft_pin,
                                 .time_to_live = put.time_to_live,
                                 .parent = optional_name(object.tenant, parent)};
  forget_put(put);
  boost::container::small_vector<Replica, 1> complete;
  for (std::size_t i = 0; i < object.replicas.size(); ++i) {
    Replica replica = object.replicas[i];
    if (sealed(i)) {
      replica.advance(ReplicaEvent::put_end);
      complete.push_back(replica);
    } else if (replica.segment != no_segment) {
      retire(step, object, replica, ReplicaEvent::give_up, writer);
    }
  }
  object.replicas = std::move(complete);
  object.has_checksum = item.checksum.has_value();
  object.checksum = item.checksum.value_or(0);
  catalog_.publish(object, how, extents_of(object));
  note_event(step, ObjectEvent::Kind::stored, object);
  return {};
}

// A put that an older master granted counts by what the nodes report of it.
Result<bool> Master::State::end_older_epoch(Step& step, const OpenCall& open,
                                            const PutEnd::Item& item,
                                            const AnswerAddress& address) {
  LARDER_CHECK(recovered());
  const Object* current = catalog_.find(Catalog::name(open.session.tenant, item.key)).current;
  if (current == nullptr || current->put_id != item.put_id) {
    return failed(ErrorCode::invalid_write,
                  "put " + to_string(item.put_id) + " of an older epoch was not found sealed");
  }
  const Fingerprint name = fingerprint(catalog_.tenant_name(open.session.tenant), item.key);
  return !wait_for_older(step, name,
                         {.below = item.put_id, .address = address, .then = std::nullopt});
}

void Master::State::handle(Step& step, Caller caller, const PutRevoke& request) {
  const std::optional<OpenCall> open = open_call(step, caller, request.items.size());
  if (!open) return;
  for (std::uint32_t i = 0; i < request.items.size(); ++i) {
    const AnswerAddress address{open->session.ref(), open->call.number, i};
    const Result<bool> revoked = revoke(step, *open, request.items[i], address);
    if (!revoked) {
      answer(step, *open, i, std::unexpected(revoked.error()));
    } else if (*revoked) {
      answer(step, *open, i, Done{});
    }
  }
}

Result<bool> Master::State::revoke(Step& step, const OpenCall& open, const PutRevoke::Item& item,
                                   const AnswerAddress& address) {
  LARDER_TRY(const Catalog::Name key, key_of(open.session.tenant, item.key));
  const bool older_epoch = item.put_id.epoch != identity_.epoch;
  if (older_epoch) LARDER_CHECK(recovered());
  const Catalog::Versions versions = catalog_.find(key);
  if (versions.unfinished != nullptr && versions.unfinished->put_id == item.put_id) {
    if (versions.unfinished->put->session != open.session.id) {
      return failed(ErrorCode::illegal_client);
    }
    fail_put(step, *versions.unfinished->put);
  } else if (versions.current != nullptr && versions.current->put_id == item.put_id) {
    // Found sealed after a change of masters, though its writer had given it up.
    if (!older_epoch) return failed(ErrorCode::invalid_write, "the put has ended");
    remove_object(step, *versions.current, Gone::removed);
  }
  const Fingerprint name = fingerprint(catalog_.tenant_name(open.session.tenant), item.key);
  return !wait_for_older(step, name,
                         {.below = item.put_id.plus(1), .address = address, .then = std::nullopt});
}

}  // namespace larder
