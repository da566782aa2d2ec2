#include <algorithm>

#include "core/master/state.h"
#include "core/protocol/identity.h"

// What a master is for a search. Left out is what nobody can tell any more: the numbers that it has
// given out (of puts, lives of sessions, quarantines, slots), what it counts for people, the texts
// of errors, and the node's times in its reports.

namespace larder {

void Master::State::add_identity(Identity& identity, Time now) const {
  identity.add(identity_.epoch.value).add(identity_.instance).add(superseded_);
  identity.add(recovering_).add(durable_).add(recovered_epoch_.value);
  identity.add(directory_epoch_.value);
  identity.unordered(directory_known_, [&](const IncarnationId& id) { identity.add(id); });
  // Its own beginning counts for as long as recovery or a lease of an older master may last.
  identity.until(started_ + config_.timing.lease, now);
  identity.until(recovering_ ? recovery_end() : now, now);
  identity.unordered(awaited_, [&](const auto& known) { identity.add(known.first); });
  identity.unordered(lost_, [&](const IncarnationId& id) { identity.add(id); });
  identity.add(Random(random_).next());  // where chance stands

  catalog_.add_identity(identity, now);
  add_sessions(identity, now);
  identity.add(nodes_.size());
  for (const auto& node : nodes_) {
    identity.add(node != nullptr);
    if (node != nullptr) add_node(*node, identity, now);
  }
  for (const SegmentIndex index : shown_) identity.add(index);
  identity.add(sweeps_.size());
  for (const Sweep& sweep : sweeps_) {
    identity.add(sweep.node).add(sweep.incarnation).add(sweep.registration);
    identity.add(sweep.next_slot);
  }
  identity.unordered(retirements_, [&](const auto& entry) {
    const auto& [key, of_key] = entry;
    identity.add(key);
    for (const RetirementWaiter& waiter : of_key.waiters) {
      identity.puts_below(waiter.below).add(waiter.address.number).add(waiter.address.index);
      add_ref(waiter.address.session, identity);
      identity.add(waiter.then ? static_cast<std::uint64_t>(*waiter.then) : 0);
    }
  });
  identity.add(round_.has_value()).until(eviction_pause_, now).add(eviction_blocked_);
  for (const Ticket ticket : quiescing_) identity.add(ticket);
}

// A reference to an earlier life of a session is one to nothing.
void Master::State::add_ref(const SessionRef& ref, Identity& identity) const {
  const auto found = sessions_.find(ref.id);
  const bool alive = found != sessions_.end() && found->second->life == ref.life;
  identity.add(alive ? ref.id : SessionId{});
}

void Master::State::add_sessions(Identity& identity, Time now) const {
  std::vector<const Session*> sessions;
  for (const auto& [id, session] : sessions_) sessions.push_back(session.get());
  std::ranges::sort(sessions, {}, &Session::id);
  identity.add(sessions.size());
  for (const Session* session : sessions) add_session(*session, identity, now);
  for (const auto& [at, id] : session_checks_.all()) identity.until(at, now).add(id);
  for (const SessionRef& ref : eased_) add_ref(ref, identity);

  for (const Put& put : puts_by_age_) add_put(put, identity, now);
  for (const Put& put : puts_by_deadline_) identity.put(put.object->put_id);
  for (const Put& put : waiting_) identity.put(put.object->put_id);
}

void Master::State::add_session(const Session& session, Identity& identity, Time now) const {
  identity.add(session.id).add(session.tenant).add(session.host).add(session.held);
  identity.until(session.last_heard + config_.timing.session_lost, now);
  identity.add(session.lowest_unanswered).add(session.eased).add(session.calls.size());
  for (const auto& call : session.calls) {
    identity.add(call->number).add(call->begun).add(call->bytes);
    const bool answered =
        std::ranges::all_of(call->answers, [](const auto& each) { return each.has_value(); });
    identity.add(answered ? 0 : call->ticket);
    for (const auto& answer : call->answers) {
      identity.add(answer.has_value());
      if (answer) larder::add_identity(*answer, identity);
    }
  }
  for (const Put& put : session.puts) identity.put(put.object->put_id);
  for (const Put& put : session.over_share) identity.put(put.object->put_id);
}

void Master::State::add_put(const Put& put, Identity& identity, Time now) const {
  identity.put(put.object->put_id).add(put.session->id).add(put.call).add(put.item);
  identity.add(put.replicas_wanted).add(put.waiting).add(put.over_share);
  identity.add(put.charged).add(put.call_bytes).until(put.deadline, now);
  identity.add(put.wishes != nullptr);
  if (put.wishes == nullptr) return;
  identity.add(put.wishes->soft_pin).add(put.wishes->time_to_live).add(put.wishes->parent);
  for (const SegmentId id : put.wishes->preferred) identity.add(id);
  for (const SegmentId id : put.wishes->avoid) identity.add(id);
}

void Master::State::add_node(const NodeRecord& node, Identity& identity, Time now) const {
  const Timing& timing = config_.timing;
  identity.add(node.incarnation).add(node.endpoint);
  identity.add(static_cast<std::uint64_t>(node.state)).add(node.registration);
  identity.add(node.connected).add(node.reported).add(node.reconciled).add(node.in_books);
  identity.add(node.of_another_directory)
      .add(node.retires_everything)
      .add(node.sick)
      .add(node.next_part)
      .add(node.fill_queue);
  // A heartbeat is stale only behind that instant.
  identity.until(node.last_heard + timing.stale_heartbeat + Duration(1), now);
  identity.until(node.last_heard + timing.hidden_after_silence, now);
  identity.until(node.last_heard + timing.node_lost, now);
  identity.until(node.disconnected_at == time_never
                     ? time_never
                     : node.disconnected_at + timing.hidden_after_disconnect,
                 now);
  identity.until(node.armed, now);
  for (const SegmentIndex index : node.segments) {
    const Segment& segment = *segments_[index];
    identity.add(index).add(segment.description.id).add(segment.shown);
    segment.space.add_identity(identity);
  }
  add_quarantine(node, identity, now);
}

void Master::State::add_quarantine(const NodeRecord& node, Identity& identity, Time now) const {
  const Timing& timing = config_.timing;
  identity.add(node.quarantine.size());
  if (!node.quarantine.empty()) identity.until(node.asked_at + timing.retirement_retry, now);
  std::uint64_t before_shown = 0;
  for (const Quarantined& record : node.quarantine) {
    larder::add_identity(record.name, identity);
    identity.add(static_cast<std::uint64_t>(record.replica.state)).add(record.key);
    identity.until(record.since + timing.retirement_sick, now);
    identity.until(record.since + timing.retirement_lost, now);
    identity.until(record.held_until, now);
    add_ref(record.charged, identity);
    before_shown += record.sequence < node.show_after;
  }
  // What must be over before it is shown, and whether anything decides that yet.
  const bool shown = node.state == NodeState::shown;
  identity.add(shown ? 0 : before_shown).add(!shown && node.show_after == ~std::uint64_t{0});
}

}  // namespace larder
