#include <algorithm>

#include "core/base/assert.h"
#include "core/master/state.h"
#include "core/protocol/extent_shape.h"

namespace larder {
namespace {

std::optional<Catalog::Name> optional_name(TenantId tenant, std::string_view text) {
  return text.empty() ? std::nullopt : std::optional(Catalog::name(tenant, text));
}

// Null if it is a plain put.
std::unique_ptr<PutWishes> wishes_of(const PutStart& request, const PutStart::Item& item) {
  if (item.soft_pin == Duration(0) && item.time_to_live == Duration(0) && item.parent.empty() &&
      request.preferred.empty() && request.avoid.empty()) {
    return nullptr;
  }
  return std::make_unique<PutWishes>(item.soft_pin, item.time_to_live, std::string(item.parent),
                                     request.preferred, request.avoid);
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
  const std::optional<OpenCall> open = open_call(step, caller);
  if (!open) return;
  const PutId first{identity_.epoch, next_counter_};
  put_times_.note(next_counter_, step.now);
  next_counter_ += open->end - open->first;
  if (open->first == 0) {
    for (const PutStart::Item& item : request.items) {
      open->call.bytes += std::min(item.size, config_.object_bytes_max);
    }
  }
  Lookahead keys(catalog_, open->session.tenant, std::span(request.items).first(open->end),
                 open->first);
  for (std::uint32_t i = open->first; i < open->end; ++i) {
    Result<std::optional<PutGrant>> started =
        start_put(step, open->session,
                  {.request = request,
                   .item = request.items[i],
                   .key = keys[i],
                   .put_id = first.plus(i - open->first),
                   .call_bytes = open->call.bytes,
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
  const Catalog::Name& key = start.key;
  LARDER_CHECK(check_key(key.text));
  LARDER_CHECK(check_put(item));
  if (start.request.upsert) LARDER_CHECK(recovered());
  const Catalog::Versions versions = catalog_.find(key);
  if (!start.request.upsert && versions.current != nullptr && reachable(*versions.current) &&
      catalog_.expires(*versions.current) > step.now) {
    return failed(ErrorCode::object_already_exists);
  }
  if (versions.unfinished != nullptr) {
    Put& other = put_of(*versions.unfinished);
    if (step.now < other.deadline) return failed(ErrorCode::put_in_flight);
    fail_put(step, other, no_room(other));
  }
  const std::optional<Catalog::Name> group = optional_name(session.tenant, item.group);
  if (group && !catalog_.group_has_room(*group)) {
    return failed(ErrorCode::invalid_params,
                  "the group has " + std::to_string(group_members_max) + " members already");
  }
  ++counted_puts_;
  Object& object = catalog_.add_unfinished(key, {.beside = versions.current,
                                                 .put_id = start.put_id,
                                                 .size = item.size,
                                                 .hard_pin = item.hard_pin,
                                                 .upsert = start.request.upsert,
                                                 .group = group});
  auto [put, slot] = puts_.emplace();
  object.put = slot;
  put.slot = slot;
  put.object = &object;
  put.session = &session;
  put.call = start.address.number;
  put.item = start.address.index;
  put.replicas_wanted = item.replicas;
  put.call_bytes = start.call_bytes;
  put.wishes = wishes_of(start.request, item);
  puts_by_age_.push_back(put);
  session.puts.push_back(put);
  return assign_or_wait(step, session, put);
}

// Of what is unfinished or not yet retired, what one client may hold before its puts wait.
Bytes Master::State::share_of_client() const {
  const auto share = static_cast<std::uint64_t>(config_.client_share_max *
                                                static_cast<double>(shown_capacity_.value));
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
  // What is unfinished now can be evicted when it has ended, or is retired.
  const Bytes may_come = catalog_.order().bytes() + pool.quarantined + granted_bytes_ +
                         (pool.capacity - pool.allocated);
  const bool worth_waiting =
      put.over_share || (largest >= space_of(put) && may_come >= space_of(put));
  if (!worth_waiting || waiting_.size() + over_share_ >= config_.waiting_puts_max) {
    Error error = no_room(put);
    fail_put(step, put);
    return std::unexpected(std::move(error));
  }
  set_deadline(put, step.now + config_.timing.wait_for_space);
  if (put.over_share) {
    session.over_share.push_back(put);
    ++over_share_;
  } else {
    wait_for_space(session, put);
  }
  return std::optional<PutGrant>();
}

void Master::State::set_deadline(Put& put, Time deadline) {
  if (put.by_deadline.is_linked()) puts_by_deadline_.erase(puts_by_deadline_.iterator_to(put));
  put.deadline = deadline;
  puts_by_deadline_.insert(puts_by_deadline_.end(), put);  // nearly always the latest
}

void Master::State::wait_for_space(Session& session, Put& put) {
  put.over_share = false;
  charge(session, put, space_of(put));
  waiting_.push_back(put);
  waiting_bytes_ += space_of(put);
}

PutGrant Master::State::grant(Step& step, Session& session, Put& put) {
  put.waiting = false;
  set_deadline(put, step.now + Timing::allowed(put.call_bytes));
  charge(session, put, extents_of(*put.object));
  granted_bytes_ += put.charged;
  PutGrant granted{.put_id = put.object->put_id,
                   .time_allowed = Timing::allowed(put.call_bytes),
                   .replicas = {}};
  for (const Replica& replica : put.object->replicas) {
    granted.replicas.push_back({segments_[replica.segment]->description.id, replica.offset});
  }
  return granted;
}

namespace {

// Why what is free may be nothing for one put: by the segments that it cannot use.
struct Reach {
  std::size_t segments = 0;
  std::size_t avoided = 0;
  std::size_t sick = 0;
  std::size_t full = 0;
  std::size_t taken = 0;
  std::size_t nodes_away = 0;  // hidden or reporting: of no segment above
  Bytes free;                  // on the other segments
  Bytes largest;
};

std::string to_text(const Reach& reach) {
  std::string list;
  const auto add = [&](std::size_t count, std::string_view what) {
    if (count > 0) list += (list.empty() ? "" : ", ") + std::to_string(count) + std::string(what);
  };
  add(reach.avoided, " where its writer failed before");
  add(reach.sick, " whose node does not confirm retirements");
  add(reach.full, " with too much in quarantine");
  add(reach.taken, " that have a copy of it");
  std::string text;
  if (!list.empty()) {
    text = "; of " + std::to_string(reach.segments) + " segments this put cannot use " + list +
           ": the others have " + std::to_string(reach.free.value) + " bytes free, " +
           std::to_string(reach.largest.value) + " in one piece";
  }
  if (reach.nodes_away > 0) {
    text += "; not counted are " + std::to_string(reach.nodes_away) +
            " nodes that do not answer now or are still reporting";
  }
  return text;
}

}  // namespace

Error Master::State::no_room(const Put& put) const {
  const SpaceUse pool = use();
  Bytes largest;
  Reach reach{.segments = shown_.size()};
  for (const SegmentIndex index : shown_) {
    const Segment& segment = *segments_[index];
    largest = std::max(largest, segment.space.largest_free());
    const auto is_here = [&](const Replica& replica) { return replica.segment == index; };
    if (put.wishes &&
        std::ranges::find(put.wishes->avoid, segment.description.id) != put.wishes->avoid.end()) {
      ++reach.avoided;
    } else if (nodes_[segment.node]->sick) {
      ++reach.sick;
    } else if (quarantine_full(segment)) {
      ++reach.full;
    } else if (std::ranges::any_of(put.object->replicas, is_here)) {
      ++reach.taken;
    } else {
      reach.free += segment.space.free_bytes();
      reach.largest = std::max(reach.largest, segment.space.largest_free());
    }
  }
  for (const auto& node : nodes_) {
    const bool away = node != nullptr &&
                      (node->state == NodeState::hidden || node->state == NodeState::reporting);
    reach.nodes_away += away ? 1 : 0;
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
             " in one piece, " + std::to_string(pool.quarantined.value) +
             " waiting for retirement" + to_text(reach) + passed_over();
  }
  return Error(ErrorCode::no_available_handle, std::move(detail)).with_size(put.object->size);
}

AnswerAddress Master::State::address_of(const Put& put) {
  return {.session = put.session->ref(), .number = put.call, .index = put.item};
}

// Takes the put out of every list. The object stays.
void Master::State::forget_put(Put& put) {
  Session* const session = put.session;
  if (put.by_deadline.is_linked()) puts_by_deadline_.erase(puts_by_deadline_.iterator_to(put));
  if (put.by_wait.is_linked() && put.over_share) {
    session->over_share.erase(session->over_share.iterator_to(put));
    --over_share_;
  } else if (put.by_wait.is_linked()) {
    waiting_.erase(waiting_.iterator_to(put));
    waiting_bytes_ -= space_of(put);
  }
  puts_by_age_.erase(puts_by_age_.iterator_to(put));
  session->puts.erase(session->puts.iterator_to(put));
  if (!put.waiting) granted_bytes_ -= put.charged;
  ease(*session, put.charged);
  puts_.erase(put.slot);
}

// Revoked, timed out, taken over, or its writer lost.
void Master::State::fail_put(Step& step, Put& put, const Error& waiting) {
  Object& object = *put.object;
  const SessionRef session = put.session->ref();
  if (put.by_wait.is_linked()) answer_late(step, address_of(put), std::unexpected(waiting));
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
    if (puts_by_deadline_.empty() || puts_by_deadline_.begin()->deadline > step.now) return;
    Put& put = *puts_by_deadline_.begin();
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
    Session& session = *put.session;
    if (place(step, session, put) == 0) {
      ++misses;
      ++at;
      continue;
    }
    at = waiting_.erase(at);
    waiting_bytes_ -= space_of(put);
    answer_late(step, address_of(put), grant(step, session, put));
  }
}

void Master::State::handle(Step& step, Caller caller, const PutEnd& request) {
  const std::optional<OpenCall> open = open_call(step, caller);
  if (!open) return;
  Lookahead keys(catalog_, open->session.tenant, std::span(request.items).first(open->end),
                 open->first);
  for (std::uint32_t i = open->first; i < open->end; ++i) {
    const AnswerAddress address{open->session.ref(), open->call.number, i};
    const Result<bool> ended = end_put(step, *open, keys[i], request.items[i], address);
    if (!ended) {
      answer(step, *open, i, std::unexpected(ended.error()));
    } else if (*ended) {
      answer(step, *open, i, Done{});
    }
  }
}

Result<bool> Master::State::end_put(Step& step, const OpenCall& open, const Catalog::Name& key,
                                    const PutEnd::Item& item, const AnswerAddress& address) {
  LARDER_CHECK(check_key(key.text));
  if (item.put_id.epoch != identity_.epoch) return end_older_epoch(step, key, item, address);
  const Catalog::Versions versions = catalog_.find(key);
  Object* object = versions.unfinished;
  bool upsert = false;
  if (object != nullptr && object->put_id == item.put_id) {
    upsert = object->upsert;
    Put& put = put_of(*object);
    if (put.session != &open.session) return failed(ErrorCode::illegal_client);
    if (put.waiting) return failed(ErrorCode::invalid_write, "the put has no space yet");
    if (step.now >= put.deadline) {
      fail_put(step, put);
      return failed(ErrorCode::invalid_write, "the time allowed for the put is over");
    }
    LARDER_CHECK(publish(step, put, versions.current, item));
  } else if (versions.current != nullptr && versions.current->put_id == item.put_id) {
    upsert = versions.current->upsert;
  } else {
    return failed(ErrorCode::invalid_write, "put " + to_string(item.put_id) + " is not unfinished");
  }
  // A plain put takes nothing back: an older version was evicted, expired or hidden, and may be
  // retired later.
  if (!upsert) return true;
  return !wait_for_older(fingerprint_of(key),
                         {.below = item.put_id, .address = address, .then = std::nullopt});
}

// The replicas that were sealed, on shown segments, become COMPLETE in one step; the others and all
// of the older version are retired.
Status Master::State::publish(Step& step, Put& put, Object* older, const PutEnd::Item& item) {
  Object& object = *put.object;
  const auto sealed = [&](std::size_t place, const Replica& replica) {
    return (item.sealed >> place & 1) != 0 && replica.segment != no_segment &&
           segments_[replica.segment]->shown;
  };
  bool any = false;
  for (std::size_t i = 0; i < object.replicas.size(); ++i) any |= sealed(i, object.replicas[i]);
  if (!any) {
    fail_put(step, put);
    return failed(ErrorCode::replica_is_gone,
                  "none of the put's replicas was sealed on a node that is there");
  }
  if (older != nullptr) remove_object(step, *older, Gone::replaced);

  const SessionRef writer = put.session->ref();
  const std::unique_ptr<PutWishes> wishes = std::move(put.wishes);
  Catalog::Publication how{.now = step.now};
  if (wishes) {
    how.soft_pin = wishes->soft_pin;
    how.time_to_live = wishes->time_to_live;
    how.parent = optional_name(object.tenant, wishes->parent);
  }
  forget_put(put);
  for (std::size_t place = 0, i = 0; i < object.replicas.size(); ++place) {
    Replica& replica = object.replicas[i];
    if (sealed(place, replica)) {
      replica.advance(ReplicaEvent::put_end);
      ++i;
      continue;
    }
    if (replica.segment != no_segment) {
      retire(step, object, replica, ReplicaEvent::give_up, writer);
    }
    object.replicas.erase(&replica);
  }
  object.has_checksum = item.checksum.has_value();
  object.checksum = item.checksum.value_or(0);
  catalog_.publish(object, how, extents_of(object));
  note_event(step, ObjectEvent::Kind::stored, object);
  return {};
}

// A put that an older master granted counts by what the nodes report of it.
Result<bool> Master::State::end_older_epoch(Step&, const Catalog::Name& key,
                                            const PutEnd::Item& item,
                                            const AnswerAddress& address) {
  LARDER_CHECK(recovered());
  const Object* current = catalog_.find(key).current;
  if (current == nullptr || current->put_id != item.put_id) {
    return failed(ErrorCode::invalid_write,
                  "put " + to_string(item.put_id) + " of an older epoch was not found sealed");
  }
  return !wait_for_older(fingerprint_of(key),
                         {.below = item.put_id, .address = address, .then = std::nullopt});
}

void Master::State::handle(Step& step, Caller caller, const PutRevoke& request) {
  const std::optional<OpenCall> open = open_call(step, caller);
  if (!open) return;
  Lookahead keys(catalog_, open->session.tenant, std::span(request.items).first(open->end),
                 open->first);
  for (std::uint32_t i = open->first; i < open->end; ++i) {
    const AnswerAddress address{open->session.ref(), open->call.number, i};
    const Result<bool> revoked = revoke(step, *open, keys[i], request.items[i], address);
    if (!revoked) {
      answer(step, *open, i, std::unexpected(revoked.error()));
    } else if (*revoked) {
      answer(step, *open, i, Done{});
    }
  }
}

Result<bool> Master::State::revoke(Step& step, const OpenCall& open, const Catalog::Name& key,
                                   const PutRevoke::Item& item, const AnswerAddress& address) {
  LARDER_CHECK(check_key(key.text));
  const bool older_epoch = item.put_id.epoch != identity_.epoch;
  if (older_epoch) LARDER_CHECK(recovered());
  const Catalog::Versions versions = catalog_.find(key);
  if (versions.unfinished != nullptr && versions.unfinished->put_id == item.put_id) {
    Put& put = put_of(*versions.unfinished);
    if (put.session != &open.session) return failed(ErrorCode::illegal_client);
    fail_put(step, put);
  } else if (versions.current != nullptr && versions.current->put_id == item.put_id) {
    // Found sealed after a change of masters, though its writer had given it up.
    if (!older_epoch) return failed(ErrorCode::invalid_write, "the put has ended");
    remove_object(step, *versions.current, Gone::removed);
  }
  return !wait_for_older(fingerprint_of(key),
                         {.below = item.put_id.plus(1), .address = address, .then = std::nullopt});
}

}  // namespace larder
