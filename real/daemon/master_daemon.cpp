#include "real/daemon/master_daemon.h"

#include <fmt/format.h>

#include <algorithm>

#include "real/daemon/epoch.h"
#include "real/http/pages.h"
#include "real/rpc/log.h"
#include "real/system/machine.h"

namespace larder::real {
namespace {

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
      http_(loop, {}, *this),
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
  if (options_.record.directory) {
    LARDER_TRY(recorder_, Recorder::make(options_.record));
  }
  if (state_) LARDER_CHECK(state_->begin_epoch(identity.epoch));
  server_.set_epoch(identity.epoch);
  carry_out();
  return {};
}

Status MasterDaemon::admits(Role role) const {
  if (role == Role::control) return server_.has_room();
  return failed(ErrorCode::not_supported, "no node listens here");
}

void MasterDaemon::enter(Role, Socket socket, Hello hello) {
  server_.adopt(std::move(socket), std::move(hello));
}

bool MasterDaemon::enter_other(Socket& socket, std::string_view first) {
  if (!begins_as_http(first)) return false;
  http_.adopt(std::move(socket), first);
  return true;
}

HttpAnswer MasterDaemon::page(std::string_view path) {
  const GivenUp given_up{.came_too_late = listener_->guests().came_too_late(),
                         .made_way = listener_->guests().made_way(),
                         .unfinished = server_.given_up()};
  StatusReport status = master_->status(loop_.now());
  status.recording = recording();
  return master_page(path, status, over_, given_up);
}

void MasterDaemon::request(Ticket ticket, CallerId caller, DecodedRequest decoded,
                           FrameBytes frame) {
  if (over_) return;
  const Request& request = decoded.request;
  // The clock is read only for what would end this master.
  if (const Epoch shown = request.header.highest_epoch; shown > master_->epoch()) {
    if (const Status believed = check_shown_epoch(
            {.shown = shown, .own = master_->epoch(), .wall_clock_ms = wall_clock_ms()});
        !believed) {
      return server_.expel(ticket, believed.error());
    }
  }
  if (answer_count(request.body) > items_per_piece) {
    server_.hold(ticket);
    if (recorder_) recorder_->open_call(loop_.now(), ticket, frame);
    long_calls_.push_back({.ticket = ticket,
                           .caller = caller,
                           .arrived = loop_.now(),
                           .decoded = std::move(decoded)});
    return serve_pieces();
  }
  if (const auto* node = std::get_if<RegisterNode>(&request.body)) {
    registering_ticket_ = ticket;
    registering_ = NodeCall{
        .caller = caller, .incarnation = node->incarnation, .registration = node->registration};
  }
  apply(ticket, request, loop_.now(), {}, frame);
  registering_.reset();
  carry_out();
}

// `arrived`: when it was taken off its connection.
void MasterDaemon::apply(Ticket ticket, const Request& request, Time arrived, Piece piece,
                         FrameBytes frame) {
  const Time begins = loop_.now();
  if (recorder_ && frame.empty()) recorder_->piece(begins, ticket, piece);
  if (recorder_ && !frame.empty()) recorder_->request(begins, ticket, frame);
  if (piece.first == 0) times_.queued(request.body, begins - arrived);
  master_->apply(begins, ticket, request, effects_, piece);
  times_.worked(request.body, loop_.now() - begins);
}

// The next piece comes after what has arrived by now.
void MasterDaemon::serve_pieces() {
  if (long_calls_.empty() || std::exchange(piece_posted_, true)) return;
  loop_.post([this] {
    piece_posted_ = false;
    serve_piece();
    serve_pieces();
  });
}

void MasterDaemon::serve_piece() {
  if (over_ || long_calls_.empty()) return;
  LongCall& call = long_calls_.front();
  const Piece piece{.first = call.done, .end = call.done + items_per_piece};
  apply(call.ticket, call.decoded.request, call.arrived, piece, {});
  call.done = piece.end;
  if (call.done >= answer_count(call.decoded.request.body)) {
    server_.release(call.ticket);
    long_calls_.pop_front();
  }
  carry_out();
}

void MasterDaemon::answer(Ticket ticket, std::uint32_t index, const Answer& answer) {
  if (registering_ && ticket == registering_ticket_ && answer) {
    node_callers_[registering_->incarnation] = registering_->caller;
    node_calls_[registering_->caller] = *registering_;
  }
  if (recorder_) recorder_->effects().add(ticket, index, answer);
  const auto* report = answer ? std::get_if<StatusReport>(&*answer) : nullptr;
  if (report == nullptr) return server_.answer(ticket, index, answer);
  StatusReport whole = *report;
  times_.add_to(whole);
  whole.recording = recording();
  server_.answer(ticket, index, std::move(whole));
}

void MasterDaemon::caller_gone(CallerId caller) {
  std::erase_if(long_calls_, [&](const LongCall& call) { return call.caller == caller; });
  const auto found = node_calls_.find(caller);
  if (found == node_calls_.end()) return;
  const NodeCall call = found->second;
  node_calls_.erase(found);
  if (const auto own = node_callers_.find(call.incarnation);
      own != node_callers_.end() && own->second == caller) {
    node_callers_.erase(own);
  }
  if (over_) return;
  log(LogLevel::info, "master", "the connection of a node has ended",
      {{"incarnation", to_string(call.incarnation)}});
  const Time now = loop_.now();
  if (recorder_) recorder_->node_disconnected(now, call.incarnation, call.registration);
  master_->node_disconnected(now, call.incarnation, call.registration);
  carry_out();
}

void MasterDaemon::tick() {
  alarm_at_ = time_never;
  if (over_) return;
  const Time now = loop_.now();
  if (recorder_) recorder_->tick(now);
  master_->tick(now, effects_);
  carry_out();
}

void MasterDaemon::carry_out() {
  if (state_ && !effects_.records.empty()) {
    if (Status kept = state_->record(effects_.records); !kept) return end(kept.error());
  }
  server_.flush();
  for (const Command& command : effects_.commands) send(command);
  for (const NodeEvent& event : effects_.node_events) log_node(event);
  std::optional<Epoch> newer;
  for (const StateRecord& record : effects_.records) {
    if (const auto* seen = std::get_if<NewerEpoch>(&record)) newer = seen->epoch;
  }
  if (recorder_) recorder_->effects().add(effects_);
  effects_.clear();
  if (newer) return end(superseded_by(*newer, master_->epoch()));
  if (!options_.lock_step) set_alarm();
  if (recorder_ && recorder_->wants_slot()) begin_slot();
}

// Between two calls. Long ones are told again, since a slot is read without those before it.
void MasterDaemon::begin_slot() {
  const Time now = loop_.now();
  if (!recorder_->begin_slot(now, *master_)) return;
  std::string frame;
  for (const LongCall& call : long_calls_) {
    frame.clear();
    encode(call.decoded.request, frame);
    recorder_->open_call(now, call.ticket, std::as_bytes(std::span(frame)));
  }
}

StatusReport::Recording MasterDaemon::recording() const {
  if (!recorder_) return {};
  const Recorder::View view = recorder_->view(loop_.now());
  return {.on = true,
          .span = view.span,
          .bytes = view.bytes,
          .dropped = view.dropped,
          .trouble = view.trouble};
}

// Most requests leave the next deadline where it is.
void MasterDaemon::set_alarm() {
  const Time due = master_->next_deadline().value_or(time_never);
  if (due == std::exchange(alarm_at_, due)) return;
  if (due == time_never) {
    alarm_.cancel();
  } else {
    alarm_.set(due);
  }
}

void MasterDaemon::send(const Command& command) {
  const auto caller = node_callers_.find(command.incarnation);
  if (caller != node_callers_.end()) server_.command(caller->second, command);
}

void MasterDaemon::log_node(const NodeEvent& event) {
  const bool trouble = event.kind == NodeEvent::Kind::hidden ||
                       event.kind == NodeEvent::Kind::sick || event.kind == NodeEvent::Kind::lost;
  log(trouble ? LogLevel::warn : LogLevel::info, "master", to_string(event.kind),
      {{"node", event.name}, {"endpoint", event.endpoint}, {"why", event.why}});
}

void MasterDaemon::end(Error error) {
  over_ = true;
  long_calls_.clear();
  alarm_.cancel();
  effects_.clear();
  if (ended_) std::exchange(ended_, nullptr)(std::move(error));
}

}  // namespace larder::real
