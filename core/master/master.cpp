#include "core/master/master.h"

#include <algorithm>
#include <utility>

#include "core/base/assert.h"
#include "core/master/state.h"
#include "core/protocol/timing_check.h"

namespace larder {

Result<std::unique_ptr<Master>> Master::make(Time now, const MasterConfig& config,
                                             const MasterIdentity& identity,
                                             const MasterState& state) {
  LARDER_CHECK(config.watermarks.check());
  LARDER_CHECK(check(config.timing));
  LARDER_CHECK(check_policy(config.policy));
  if (identity.epoch.value == 0) {
    return failed(ErrorCode::invalid_params, "a master's epoch must not be 0");
  }
  return std::unique_ptr<Master>(new Master(std::make_unique<State>(now, config, identity, state)));
}

Master::Master(std::unique_ptr<State> state) : state_(std::move(state)) {}
Master::~Master() = default;

void Master::apply(Time now, Ticket ticket, const Request& request, MasterEffects& effects,
                   Piece piece) {
  state_->apply(now, ticket, request, effects, piece);
}
void Master::node_disconnected(Time now, IncarnationId incarnation, std::uint64_t registration) {
  state_->node_disconnected(now, incarnation, registration);
}
void Master::tick(Time now, MasterEffects& effects) { state_->tick(now, effects); }
std::optional<Time> Master::next_deadline() const { return state_->next_deadline(); }
bool Master::superseded() const { return state_->superseded(); }
const StageTimes& Master::client_stages() const { return state_->client_stages(); }
const StageTimes* Master::node_stages(std::string_view node) const {
  return state_->node_stages(node);
}
Epoch Master::epoch() const { return state_->epoch(); }
StatusReport Master::status(Time now) const { return state_->status(now); }
ObjectDetails Master::describe(Time now, std::string_view tenant, std::string_view key) const {
  return state_->describe(now, tenant, key);
}
std::optional<Master::Who> Master::session(SessionId id) const { return state_->session(id); }
std::vector<std::string_view> Master::tenants() const { return state_->tenants(); }
const SegmentDescription* Master::segment(SegmentId id) const { return state_->segment(id); }
void Master::check_invariants() const { state_->check_invariants(); }
std::uint64_t Master::digest(Time now) const { return state_->digest(now); }
void Master::add_identity(Identity& identity, Time now) const {
  state_->add_identity(identity, now);
}

namespace {

// A lease that an earlier master granted must not be taken for one of this master.
std::uint32_t first_lease_round(const MasterIdentity& identity) {
  return static_cast<std::uint32_t>(Digest()
                                        .add(identity.epoch.value)
                                        .add(identity.instance.high ^ identity.instance.low)
                                        .value());
}

}  // namespace

Master::State::State(Time now, const MasterConfig& config, const MasterIdentity& identity,
                     const MasterState& state)
    : config_(config),
      identity_(identity),
      last_now_(now),
      started_(now),
      random_(config.seed),
      catalog_(config.policy, first_lease_round(identity)),
      lost_(state.lost.begin(), state.lost.end()),
      durable_(state.durable),
      recovered_epoch_(state.recovered_epoch),
      directory_epoch_(state.recovered_epoch) {
  for (const NodeKnown& known : state.known) {
    directory_known_.insert(known.incarnation);
    if (!lost_.contains(known.incarnation)) awaited_.emplace(known.incarnation, known.name);
  }
}

// Records must be in no list when they are destroyed.
Master::State::~State() {
  for (auto& [id, session] : sessions_) {
    session->puts.clear();
    session->over_share.clear();
  }
  for (auto& node : nodes_) {
    if (node != nullptr) node->quarantine.clear();
  }
  puts_by_age_.clear();
  puts_by_deadline_.clear();
  waiting_.clear();
}

void Master::State::enter(Time now) {
  LARDER_ASSERT(now >= last_now_, "time never decreases");
  last_now_ = now;
}

void Master::State::apply(Time now, Ticket ticket, const Request& request, MasterEffects& effects,
                          Piece piece) {
  enter(now);
  const std::size_t items = answer_count(request.body);
  const Caller caller{.ticket = ticket,
                      .header = request.header,
                      .items = items,
                      .first = static_cast<std::uint32_t>(std::min(piece.first, items)),
                      .end = static_cast<std::uint32_t>(std::min(piece.end, items))};
  Step step{now, effects, quarantine_sequence_};
  if (!superseded_ && request.header.highest_epoch > identity_.epoch) {
    superseded_ = true;
    effects.records.emplace_back(NewerEpoch{request.header.highest_epoch});
  }
  if (superseded_) {
    return refuse_all(step, caller, Error(ErrorCode::epoch_superseded));
  }
  end_recovery(step);
  std::visit([&](const auto& body) { handle(step, caller, body); }, request.body);
  flush(step);
}

void Master::State::tick(Time now, MasterEffects& effects) {
  enter(now);
  if (superseded_) return;
  Step step{now, effects, quarantine_sequence_};
  run_due(step);
  flush(step);
}

void Master::State::run_due(Step& step) {
  constexpr int checks_max = 256;  // of each kind in one step
  end_recovery(step);
  for (int i = 0; i < checks_max; ++i) {
    const std::optional<NodeIndex> index = node_checks_.pop(step.now);
    if (!index) break;
    check_node(step, *index);
  }
  for (int i = 0; i < checks_max; ++i) {
    const std::optional<SessionId> id = session_checks_.pop(step.now);
    if (!id) break;
    check_session(step, *id);
  }
  expire_puts(step);
  expire_objects(step);
  sweep(step);
  run_eviction(step);
  serve_waiting(step);
}

bool Master::State::more_is_due(Time now) const {
  const std::optional<Time> next = next_deadline();
  return next && *next <= now;
}

std::optional<Time> Master::State::next_deadline() const {
  if (superseded_) return std::nullopt;
  if (!sweeps_.empty() || !eased_.empty()) return last_now_;
  std::optional<Time> earliest;
  const auto consider = [&](std::optional<Time> time) {
    if (time && (!earliest || *time < *earliest)) earliest = time;
  };
  consider(node_checks_.next());
  consider(session_checks_.next());
  if (!puts_by_deadline_.empty()) consider(puts_by_deadline_.begin()->deadline);
  consider(catalog_.next_deadline());
  if (recovering_) {
    consider(awaited_.empty() ? last_now_ : recovery_end());
  }
  if (!eviction_blocked_ && bytes_wanted() > 0_B) consider(std::max(eviction_pause_, last_now_));
  return earliest;
}

void Master::State::refuse_all(Step& step, const Caller& caller, const Error& error) {
  for (std::uint32_t i = caller.first; i < caller.end; ++i) {
    step.effects.answers.answer(caller.ticket, i, std::unexpected(error));
  }
}

void Master::State::tell(NodeRecord& node) {
  if (node.to_retire.empty() && node.to_verify.empty()) to_tell_.push_back(node.index);
}

// Commands of one step go out together, in the order of the nodes.
void Master::State::flush(Step& step) {
  if (to_tell_.empty()) return;
  const PutId lowest = lowest_unfinished();
  std::ranges::sort(to_tell_);
  for (const NodeIndex index : std::exchange(to_tell_, {})) {
    const auto& node = nodes_[index];
    if (node == nullptr) continue;
    const auto send = [&](std::vector<ExtentName>& extents, auto make) {
      for (std::size_t at = 0; at < extents.size(); at += items_per_piece) {
        const std::size_t end = std::min(extents.size(), at + items_per_piece);
        step.effects.commands.push_back({.incarnation = node->incarnation,
                                         .epoch = identity_.epoch,
                                         .instance = identity_.instance,
                                         .lowest_unfinished = lowest,
                                         .body = make(std::vector<ExtentName>(
                                             extents.begin() + static_cast<std::ptrdiff_t>(at),
                                             extents.begin() + static_cast<std::ptrdiff_t>(end)))});
      }
      extents.clear();
    };
    send(node->to_retire,
         [](std::vector<ExtentName> list) { return CommandBody(RetireExtents{std::move(list)}); });
    send(node->to_verify,
         [](std::vector<ExtentName> list) { return CommandBody(VerifyExtents{std::move(list)}); });
  }
}

}  // namespace larder
