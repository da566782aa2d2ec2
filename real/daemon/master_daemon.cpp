#include "real/daemon/master_daemon.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "real/daemon/epoch.h"
#include "real/rpc/log.h"
#include "real/system/machine.h"

namespace larder::real {
namespace {

// The part [from, from + items_per_piece) of a long lookup. Only the first one brings what the
// header carries, since a lease given back twice would count twice.
std::optional<Request> piece_of(const Request& request, std::size_t from) {
  Request piece;
  piece.header = request.header;
  if (from > 0) {
    piece.header.lease_returns.clear();
    piece.header.bad_bytes.clear();
  }
  const auto cut = [&]<class Body>(const Body& body) {
    const auto rest = std::span(body.items).subspan(from);
    const auto items = rest.first(std::min(rest.size(), items_per_piece));
    Body part;
    part.items.assign(items.begin(), items.end());
    piece.body = std::move(part);
  };
  if (const auto* lookup = std::get_if<GetReplicaList>(&request.body)) {
    cut(*lookup);
  } else if (const auto* exists = std::get_if<Exists>(&request.body)) {
    cut(*exists);
  } else {
    return std::nullopt;
  }
  return piece;
}

Error superseded_by(Epoch newer, Epoch own) {
  const std::uint64_t newer_ms = newer.value >> 16;
  const std::uint64_t now_ms = wall_clock_ms();
  const std::string clock =
      newer_ms > now_ms
          ? fmt::format(
                "; its clock is {} s ahead of this machine's, so a master here cannot lead "
                "before then, unless it is started with --epoch-after {}",
                (newer_ms - now_ms) / 1000, newer.value)
          : "";
  return Error(ErrorCode::epoch_superseded,
               fmt::format("a master of epoch {} leads now, this one has epoch {}{}", newer.value,
                           own.value, clock));
}

}  // namespace

Result<std::unique_ptr<MasterDaemon>> MasterDaemon::make(Loop& loop, MasterOptions options,
                                                         Ended ended) {
  std::unique_ptr<MasterDaemon> daemon(
      new MasterDaemon(loop, std::move(options), std::move(ended)));
  LARDER_CHECK(daemon->start());
  return daemon;
}

MasterDaemon::MasterDaemon(Loop& loop, MasterOptions options, Ended ended)
    : loop_(loop),
      options_(std::move(options)),
      ended_(std::move(ended)),
      server_(loop, {}, *this),
      effects_(*this),
      alarm_(loop, [this] { tick(); }) {
  if (options_.lock_step) options_.config = in_lock_step(std::move(options_.config));
}

MasterDaemon::~MasterDaemon() = default;

Status MasterDaemon::start() {
  Epoch last = options_.epoch_after;
  MasterState found;
  if (options_.state_directory) {
    LARDER_TRY(auto state, StateDirectory::open(*options_.state_directory));
    state_.emplace(std::move(state));
    last = std::max(last, state_->last_epoch());
    found = state_->state();
  }
  Random random = system_random();
  LARDER_TRY(const Epoch epoch,
             next_epoch(wall_clock_ms(), last, static_cast<std::uint16_t>(random.next())));
  const MasterIdentity identity{.epoch = epoch, .instance = draw_id<InstanceId>(random)};
  LARDER_TRY(master_, Master::make(loop_.now(), options_.config, identity, found));
  // The port first: a master that does not get it leaves nothing behind.
  LARDER_TRY(listener_, Listener::make(loop_, {.endpoint = options_.listen}, *this));
  if (state_) LARDER_CHECK(state_->begin_epoch(identity.epoch));
  server_.set_epoch(identity.epoch);
  carry_out();
  return {};
}

void MasterDaemon::enter(Role, Socket socket, Hello hello) {
  server_.adopt(std::move(socket), std::move(hello));
}

void MasterDaemon::request(Ticket ticket, CallerId caller, DecodedRequest decoded) {
  if (over_) return;
  const Request& request = decoded.request;
  if (answer_count(request.body) > items_per_piece && piece_of(request, 0)) {
    long_lookups_.push_back({.ticket = ticket, .decoded = std::move(decoded)});
    if (long_lookups_.size() == 1) loop_.post([this] { serve_piece(); });
    return;
  }
  if (const auto* node = std::get_if<RegisterNode>(&request.body)) {
    registering_ticket_ = ticket;
    registering_ = NodeCall{
        .caller = caller, .incarnation = node->incarnation, .registration = node->registration};
  }
  master_->apply(loop_.now(), ticket, request, effects_);
  registering_.reset();
  carry_out();
}

void MasterDaemon::serve_piece() {
  if (over_ || long_lookups_.empty()) return;
  LongLookup& lookup = long_lookups_.front();
  const std::optional<Request> piece = piece_of(lookup.decoded.request, lookup.done);
  piece_ticket_ = server_.new_ticket();
  master_->apply(loop_.now(), piece_ticket_, *piece, effects_);
  piece_ticket_ = 0;
  lookup.done += answer_count(piece->body);
  if (lookup.done == answer_count(lookup.decoded.request.body)) long_lookups_.pop_front();
  carry_out();
  if (!long_lookups_.empty()) loop_.post([this] { serve_piece(); });
}

void MasterDaemon::answer(Ticket ticket, std::uint32_t index, const Answer& answer) {
  if (piece_ticket_ != 0 && ticket == piece_ticket_) {
    const LongLookup& lookup = long_lookups_.front();
    return server_.answer(lookup.ticket, static_cast<std::uint32_t>(lookup.done + index), answer);
  }
  if (registering_ && ticket == registering_ticket_ && answer) {
    node_callers_[registering_->incarnation] = registering_->caller;
    node_calls_[registering_->caller] = *registering_;
  }
  server_.answer(ticket, index, answer);
}

void MasterDaemon::caller_gone(CallerId caller) {
  const auto found = node_calls_.find(caller);
  if (found == node_calls_.end()) return;
  const NodeCall call = found->second;
  node_calls_.erase(found);
  if (const auto own = node_callers_.find(call.incarnation);
      own != node_callers_.end() && own->second == caller) {
    node_callers_.erase(own);
  }
  if (over_) return;
  spdlog::info("the connection of node incarnation {} has ended", to_string(call.incarnation));
  master_->node_disconnected(loop_.now(), call.incarnation, call.registration);
  carry_out();
}

void MasterDaemon::tick() {
  if (over_) return;
  master_->tick(loop_.now(), effects_);
  carry_out();
}

void MasterDaemon::carry_out() {
  if (state_ && !effects_.records.empty()) {
    if (Status kept = state_->record(effects_.records); !kept) return end(kept.error());
  }
  server_.flush();
  for (const Command& command : effects_.commands) send(command);
  std::optional<Epoch> newer;
  for (const StateRecord& record : effects_.records) {
    if (const auto* seen = std::get_if<NewerEpoch>(&record)) newer = seen->epoch;
  }
  effects_.clear();
  if (newer) return end(superseded_by(*newer, master_->epoch()));
  if (options_.lock_step) return;
  if (const std::optional<Time> due = master_->next_deadline()) {
    alarm_.set(*due);
  } else {
    alarm_.cancel();
  }
}

void MasterDaemon::send(const Command& command) {
  const auto caller = node_callers_.find(command.incarnation);
  if (caller != node_callers_.end()) server_.command(caller->second, command);
}

void MasterDaemon::end(Error error) {
  over_ = true;
  alarm_.cancel();
  effects_.clear();
  if (ended_) std::exchange(ended_, nullptr)(std::move(error));
}

}  // namespace larder::real
