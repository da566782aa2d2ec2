#include <algorithm>
#include <string>
#include <utility>

#include "core/base/archive.h"
#include "core/base/assert.h"
#include "core/master/saved_config.h"
#include "core/master/state.h"
#include "core/protocol/timing_check.h"

// The whole state as bytes and back. What is missing here is missing after a load: the property
// test drives a loaded master and the one that it was saved from side by side.

namespace larder {
namespace {

void archive_parts(Archive& archive, Error& error) {
  ErrorCode code = error.code();
  ErrorFacts facts = error.facts();
  archive(code, facts.detail, facts.key, facts.endpoint, facts.size, facts.elapsed);
  if (!archive.loading()) return;
  error = Error(code, facts.detail);
  if (!facts.key.empty()) error = std::move(error).with_key(facts.key);
  if (!facts.endpoint.empty()) error = std::move(error).with_endpoint(facts.endpoint);
  if (facts.size != 0_B) error = std::move(error).with_size(facts.size);
  if (facts.elapsed != Duration(0)) error = std::move(error).with_elapsed(facts.elapsed);
}

// Of a call that changes something: no other answer is remembered.
void archive_answer(Archive& archive, std::optional<Answer>& answer) {
  enum class Kind : std::uint8_t { none, error, done, grant };
  Kind kind = Kind::none;
  if (answer) {
    kind = Kind::error;
    if (*answer) kind = std::holds_alternative<Done>(**answer) ? Kind::done : Kind::grant;
  }
  archive(kind);
  if (kind == Kind::error) {
    Error error = answer ? answer->error() : Error(ErrorCode::internal_error);
    archive_parts(archive, error);
    if (archive.loading()) answer = std::unexpected(std::move(error));
  } else if (kind == Kind::done) {
    answer = Done{};
  } else if (kind == Kind::grant) {
    PutGrant grant = answer ? std::get<PutGrant>(**answer) : PutGrant{};
    archive(grant.put_id, grant.time_allowed, grant.replicas);
    answer = std::move(grant);
  }
}

void archive_parts(Archive& archive, MasterConfig& config) {
  archive(config.timing, config.guards, config.watermarks.high, config.watermarks.low,
          config.policy, config.object_bytes_max, config.seed, config.object_events,
          config.sessions_max, config.nodes_max, config.waiting_puts_max,
          config.calls_per_session_max, config.pending_removals_max, config.client_share_max,
          config.client_bytes_min, config.quarantine_share_max, config.quarantine_bytes_min);
}

}  // namespace

// In the namespace of what they archive, so that lists of these are found too.
static void archive_parts(Archive& archive, Guards& guards) {
  archive(guards.state, guards.lease, guards.retirement, guards.overlap, guards.retired_put_ids,
          guards.writer_waits, guards.footer, guards.checksum);
}
static void archive_parts(Archive& archive, Call& call) {
  archive(call.ticket, call.number, call.begun, call.bytes);
  archive.list(call.answers, [&](auto& answer) { archive_answer(archive, answer); });
}
static void archive_parts(Archive& archive, PutWishes& wishes) {
  archive(wishes.soft_pin, wishes.time_to_live, wishes.parent, wishes.preferred, wishes.avoid);
}
static void archive_parts(Archive& archive, SegmentDescription& segment) {
  archive(segment.id, segment.incarnation, segment.name, segment.kind, segment.size,
          segment.numa_node, segment.node, segment.endpoint, segment.host, segment.rack);
}
static void archive_parts(Archive& archive, Segment& segment) {
  archive(segment.description, segment.node, segment.shown, segment.space, segment.quarantined);
}
static void archive_parts(Archive& archive, AnswerAddress& address) {
  archive(address.session, address.number, address.index);
}
static void archive_parts(Archive& archive, RetirementWaiter& waiter) {
  archive(waiter.below, waiter.address, waiter.then);
}
static void archive_parts(Archive& archive, KeyRetirements& retirements) {
  archive(retirements.quarantined, retirements.waiters);
}
static void archive_parts(Archive& archive, LostNode& lost) {
  archive(lost.incarnation, lost.name, lost.endpoint, lost.why, lost.at, lost.objects, lost.bytes,
          lost.cleared);
}
static void archive_parts(Archive& archive, Quarantined& record) {
  archive(record.sequence, record.name, record.replica, record.node, record.key, record.since,
          record.held_until, record.charged);
}

void Master::save(Archive& archive) const {
  MasterConfig config = state_->config();
  archive_parts(archive, config);
  state_->archive(archive);
  archive.finish();
}

Result<MasterConfig> saved_config(Archive& archive) {
  MasterConfig config;
  archive_parts(archive, config);
  LARDER_CHECK(archive.status());
  return config;
}

Result<std::unique_ptr<Master>> Master::load(Archive& archive) {
  LARDER_TRY(const MasterConfig config, saved_config(archive));
  LARDER_CHECK(config.watermarks.check());
  LARDER_CHECK(check(config.timing));
  LARDER_CHECK(check_policy(config.policy));
  auto state = std::make_unique<State>(Time{}, config, MasterIdentity{}, MasterState{});
  state->archive(archive);
  archive.finish();
  LARDER_CHECK(archive.status());
  return std::unique_ptr<Master>(new Master(std::move(state)));
}

Status Master::change(const MasterChange& change) { return state_->change(change); }

Status Master::State::change(const MasterChange& change) {
  MasterConfig config = config_;
  config.policy = change.policy.value_or(config.policy);
  config.timing.lease = change.lease.value_or(config.timing.lease);
  config.object_events |= change.object_events;
  if (!(change.memory_factor > 0 && change.memory_factor <= 1000)) {
    return failed(ErrorCode::invalid_params,
                  "a pool cannot be " + std::to_string(change.memory_factor) + " times as large");
  }
  const double smaller = std::min(change.memory_factor, 1.0);
  config.watermarks.high *= smaller;
  config.watermarks.low *= smaller;
  LARDER_CHECK(check(config.timing));
  LARDER_CHECK(check_policy(config.policy));
  if (config.policy != config_.policy) {
    catalog_.set_policy(config.policy);
    round_.reset();
  }
  config_ = std::move(config);
  if (change.memory_factor > 1) enlarge_segments(change.memory_factor);
  return {};
}

void Master::State::enlarge_segments(double factor) {
  for (const auto& segment : segments_) {
    if (segment == nullptr) continue;
    const Bytes before = segment->space.capacity();
    const auto size = static_cast<std::uint64_t>(static_cast<double>(before.value) * factor);
    segment->space.grow({size});
    segment->description.size = {size};
    if (segment->shown) shown_capacity_ += segment->space.capacity() - before;
  }
}

void Master::State::archive(Archive& archive) {
  archive(identity_, last_now_, started_, superseded_, random_);
  catalog_.archive(archive);
  archive(next_counter_, put_times_);
  archive_sessions(archive);
  archive_puts(archive);
  archive_nodes(archive);
  archive_retirements(archive);
  archive_recovery_and_eviction(archive);
}

Put* Master::State::loaded_put(Archive& archive, std::uint32_t slot) const {
  Put* const put = puts_.at(slot);
  archive.require(put != nullptr, "a put is missing");
  return put;
}

// An intrusive list of puts, as their slots.
template <class List>
void Master::State::archive_order(Archive& archive, List& list) {
  std::vector<std::uint32_t> slots;
  for (const Put& put : list) slots.push_back(put.slot);
  archive(slots);
  if (!archive.loading()) return;
  for (const std::uint32_t slot : slots) {
    if (Put* put = loaded_put(archive, slot)) list.push_back(*put);
  }
}

void Master::State::archive_sessions(Archive& archive) {
  std::vector<SessionId> ids;
  for (const auto& [id, session] : sessions_) ids.push_back(id);
  std::ranges::sort(ids);
  archive(ids);
  for (const SessionId id : ids) {
    auto& session = sessions_[id];
    if (archive.loading()) session = std::make_unique<Session>();
    archive_session(archive, *session);
  }
  archive(session_checks_, session_lives_, eased_);
}

void Master::State::archive_session(Archive& archive, Session& session) {
  archive(session.id, session.tenant, session.client, session.host, session.life,
          session.last_heard, session.held, session.eased, session.lowest_unanswered,
          session.calls);
  archive.require(session.calls.size() <= config_.calls_per_session_max,
                  "a session has many calls");
  for (const auto& call : session.calls) archive.require(call != nullptr, "a call is missing");
}

void Master::State::archive_puts(Archive& archive) {
  puts_.archive(archive, [&](Put& put, std::uint32_t slot) { archive_put(archive, put, slot); });
  archive_order(archive, puts_by_age_);
  archive_order(archive, waiting_);
  std::vector<SessionId> ids;
  for (const auto& [id, session] : sessions_) ids.push_back(id);
  std::ranges::sort(ids);
  for (const SessionId id : ids) {
    archive_order(archive, sessions_[id]->puts);
    archive_order(archive, sessions_[id]->over_share);
  }
  archive(waiting_bytes_, granted_bytes_, over_share_);
}

void Master::State::archive_put(Archive& archive, Put& put, std::uint32_t slot) {
  put.slot = slot;
  bool armed = put.by_deadline.is_linked();
  std::uint32_t object = archive.loading() ? 0 : put.object->slot;
  SessionId session = archive.loading() ? SessionId{} : put.session->id;
  archive(object, session, put.call, put.item, put.replicas_wanted, put.waiting, put.over_share,
          put.charged, put.call_bytes, put.deadline, put.wishes, armed);
  if (!archive.loading()) return;
  put.object = catalog_.at(object);
  put.session = find_session(session);
  if (!archive.require(put.object != nullptr && put.session != nullptr && put.object->put == slot,
                       "a put has no object or no session")) {
    return;
  }
  if (armed) puts_by_deadline_.insert(put);
}

void Master::State::archive_nodes(Archive& archive) {
  archive.list(nodes_, [&](std::unique_ptr<NodeRecord>& node) {
    bool there = node != nullptr;
    archive(there);
    if (!there) return;
    if (archive.loading()) node = std::make_unique<NodeRecord>();
    archive_node(archive, *node);
  });
  archive.list(segments_, [&](std::unique_ptr<Segment>& segment) {
    bool there = segment != nullptr;
    archive(there);
    if (!there) return;
    if (archive.loading()) segment = std::make_unique<Segment>(Segment{.space = Space(0_B)});
    archive(*segment);
    archive.require(segment->node < nodes_.size() && nodes_[segment->node] != nullptr,
                    "a segment has no node");
  });
  archive(node_index_, segment_index_, to_tell_, shown_, shown_on_host_, shown_capacity_, lost_,
          node_checks_);
  archive.list(sweeps_, [&](Sweep& sweep) {
    archive(sweep.node, sweep.incarnation, sweep.registration, sweep.next_slot);
  });
}

void Master::State::archive_node(Archive& archive, NodeRecord& node) {
  archive(node.index, node.incarnation, node.name, node.endpoint, node.host, node.rack, node.state,
          node.registration, node.connected, node.reported, node.reconciled, node.in_books,
          node.of_another_directory, node.retires_everything, node.sick, node.next_part,
          node.show_after, node.last_heard, node.disconnected_at, node.asked_at, node.armed,
          node.fill_queue, node.overlaps, node.state_since, node.segments, node.to_retire,
          node.to_verify);
}

void Master::State::archive_retirements(Archive& archive) {
  quarantine_.archive(archive, [&](Quarantined& record, std::uint32_t slot) {
    record.slot = slot;
    archive(record);
  });
  for (auto& node : nodes_) {
    if (node == nullptr) continue;
    std::vector<std::uint32_t> slots;
    for (const Quarantined& record : node->quarantine) slots.push_back(record.slot);
    archive(slots);
    if (!archive.loading()) continue;
    for (const std::uint32_t slot : slots) {
      Quarantined* const record = quarantine_.at(slot);
      if (archive.require(record != nullptr && !record->by_node.is_linked(),
                          "what a node must retire is missing")) {
        node->quarantine.push_back(*record);
      }
    }
  }
  archive(quarantine_sequence_, retirements_, removals_waiting_);
}

void Master::State::archive_recovery_and_eviction(Archive& archive) {
  archive(recovering_, durable_, recovered_epoch_, directory_epoch_, directory_known_, awaited_,
          part_taken_);
  LARDER_ASSERT(evicting_ == nullptr, "a state is saved between two calls");
  archive(round_, eviction_pause_, eviction_blocked_, eviction_digest_, quiescing_);
  archive.raw(evictions_);
  archive.raw(last_round_);
  archive(refusals_, gone_, lost_nodes_, counted_puts_, counted_gets_, counted_hits_);
}

}  // namespace larder
