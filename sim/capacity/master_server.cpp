#include "sim/capacity/master_server.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/assert.h"
#include "core/client/rules.h"

namespace larder::sim {
namespace {

// Kinds of events, for the state hash.
constexpr std::uint32_t call_label = 0x600;
constexpr std::uint32_t service_label = 0x601;
constexpr std::uint32_t tick_label = 0x602;

// The master's clock at the world's beginning: any time would do.
constexpr Time clock_begin{std::chrono::hours(1)};
// What is left over for the next tick must not keep virtual time from passing.
constexpr Duration tick_pause = std::chrono::microseconds(10);
// A ticket is a call's place and, above it, how many tickets there were before.
constexpr std::uint32_t slot_bits = 24;

}  // namespace

MasterCall::MasterCall(MasterServer& server)
    : Event(call_label), server_(server), slot_(server.take_slot(*this)) {}

MasterCall::~MasterCall() { server_.forget(*this); }

void MasterCall::prepare_on(Fabric& fabric, ThreadsId threads) {
  preparation_.emplace(fabric, threads, *this);
}

void MasterCall::prepared() { server_.kernel_.arm_in(*this, later_ + server_.costs_.message); }

void MasterCall::fire() {
  if (stage_ == Stage::going) return server_.arrive(*this);
  const bool came = stage_ == Stage::returning;
  LARDER_ASSERT(came || stage_ == Stage::parked);
  stage_ = Stage::idle;
  if (came) {
    ended();
  } else {
    failed();
  }
}

MasterServer::MasterServer(Kernel& kernel, const PoolConfig& config, Watcher& watcher,
                           Fabric* fabric)
    : kernel_(kernel),
      costs_(config.costs),
      config_([&] {
        MasterConfig master = config.master;
        master.object_events = true;
        return master;
      }()),
      watcher_(watcher),
      random_(kernel.random("master server")),
      effects_(*this),
      service_(*this, service_label, &MasterServer::serve),
      tick_(*this, tick_label, &MasterServer::tick) {
  if (config.threads.master_host && fabric != nullptr) {
    shared_service_.emplace(*fabric, fabric->add_threads(*config.threads.master_host, 1), *this);
  }
  make_machine();
}

MasterServer::~MasterServer() {
  LARDER_ASSERT(
      std::ranges::none_of(slots_, [](const Slot& slot) { return slot.call != nullptr; }));
}

void MasterServer::make_machine() {
  ++lives_;
  auto made = Master::make(now(), config_, {.epoch = {lives_}, .instance = {lives_, 1}}, disk_);
  LARDER_ASSERT(made.has_value(), "PoolConfig::check has seen the configuration");
  machine_ = std::move(*made);
}

Time MasterServer::now() const { return clock_begin + (kernel_.now() - Instant{}); }

// ---- calls --------------------------------------------------------------------------------------

std::uint32_t MasterServer::take_slot(MasterCall& call) {
  if (free_slots_.empty()) {
    LARDER_ASSERT(slots_.size() < 1u << slot_bits);
    slots_.emplace_back();
    free_slots_.push_back(static_cast<std::uint32_t>(slots_.size() - 1));
  }
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  slots_[slot].call = &call;
  return slot;
}

void MasterServer::send(MasterCall& call, Duration later) {
  LARDER_ASSERT(call.stage_ == MasterCall::Stage::idle);
  call.deadline_ = kernel_.now() + later + config_.timing.control_deadline;
  call.stage_ = MasterCall::Stage::going;
  kernel_.arm_in(call, later + costs_.message);
}

void MasterServer::send_after(MasterCall& call, Duration work, Duration later) {
  LARDER_ASSERT(call.preparation_.has_value());
  send(call, later);
  call.later_ = later;
  kernel_.cancel(call);
  call.preparation_->start(work);
}

void MasterServer::recall(MasterCall& call) noexcept {
  if (call.stage_ != MasterCall::Stage::going && call.stage_ != MasterCall::Stage::parked) return;
  if (call.preparation_) call.preparation_->stop();
  kernel_.cancel(call);
  call.stage_ = MasterCall::Stage::idle;
}

void MasterServer::lose_answers(MasterCall& call) noexcept {
  LARDER_ASSERT(call.returning());
  kernel_.cancel(call);
  call.stage_ = MasterCall::Stage::idle;
}

// The pool goes away.
void MasterServer::forget(MasterCall& call) noexcept {
  std::erase(queue_, &call);
  if (queue_.empty()) stop_serving();
  slots_[call.slot_] = {};
  free_slots_.push_back(call.slot_);
}

void MasterServer::begin_ticket(MasterCall& call) {
  call.ticket_ = ++tickets_ << slot_bits | call.slot_;
  slots_[call.slot_].ticket = call.ticket_;
  call.items_ = answer_count(call.request.body);
  call.missing_ = call.items_;
  call.begun_ = 0;
}

void MasterServer::apply_now(MasterCall& call) {
  LARDER_ASSERT(call.stage_ == MasterCall::Stage::idle && alive());
  begin_ticket(call);
  machine_->apply(now(), call.ticket_, call.request, effects_);
  LARDER_ASSERT(call.missing_ == 0);
  answered_.clear();
  carry_out();
}

void MasterServer::arrive(MasterCall& call) {
  if (!alive()) return park(call);
  begin_ticket(call);
  call.stage_ = MasterCall::Stage::queued;
  queue_.push_back(&call);
  counters_.queue_longest = std::max(counters_.queue_longest, queue_.size());
  serve_next();
}

void MasterServer::park(MasterCall& call) {
  slots_[call.slot_].ticket = 0;
  call.stage_ = MasterCall::Stage::parked;
  kernel_.arm(call, call.deadline_);
}

void MasterServer::answer(Ticket ticket, std::uint32_t index, const Answer& answer) {
  const Slot& slot = slots_[ticket & ((1u << slot_bits) - 1)];
  if (slot.ticket != ticket) return;  // nobody waits any more
  MasterCall& call = *slot.call;
  call.answered(index, answer);
  LARDER_ASSERT(call.missing_ > 0);
  if (--call.missing_ == 0) answered_.push_back(&call);
}

// ---- service ------------------------------------------------------------------------------------

Piece MasterServer::piece_of(const MasterCall& call) {
  return {.first = call.begun_, .end = std::min(call.items_, call.begun_ + items_per_piece)};
}

Duration MasterServer::cost_of_items(const RequestBody& body, std::size_t items) const {
  const auto each = [&]() -> Duration {
    if (std::holds_alternative<GetReplicaList>(body)) return costs_.lookup;
    if (std::holds_alternative<Exists>(body)) return costs_.existence;
    if (std::holds_alternative<PutStart>(body)) return costs_.put_start;
    if (std::holds_alternative<PutEnd>(body)) return costs_.put_end;
    return Duration(0);
  };
  if (const auto* confirm = std::get_if<ConfirmRetirement>(&body)) {
    return costs_.confirmation * static_cast<std::int64_t>(confirm->retired.size());
  }
  if (const auto* report = std::get_if<ReportInventory>(&body)) {
    return costs_.reported * static_cast<std::int64_t>(report->items.size());
  }
  return each() * static_cast<std::int64_t>(items);
}

// The thread is busy for so much longer.
void MasterServer::occupy(Duration time) {
  free_at_ = std::max(free_at_, kernel_.now()) + time;
  counters_.busy += time;
}

void MasterServer::stop_serving() noexcept {
  kernel_.cancel(service_);
  if (shared_service_) shared_service_->stop();
}

void MasterServer::serve_next() {
  if (queue_.empty() || service_.armed()) return;
  if (shared_service_ && shared_service_->under_way()) return;
  const MasterCall& call = *queue_.front();
  const Piece piece = piece_of(call);
  occupy((piece.first == 0 ? costs_.request : Duration(0)) +
         cost_of_items(call.request.body, piece.end - piece.first));
  if (!shared_service_) return kernel_.arm(service_, free_at_);
  shared_service_->start(free_at_ - kernel_.now());
}

void MasterServer::serve() {
  MasterCall& call = *queue_.front();
  queue_.pop_front();
  const Piece piece = piece_of(call);
  if (piece.first == 0) ++counters_.requests;
  counters_.items += piece.end - piece.first;
  call.begun_ = piece.end;
  call.stage_ = MasterCall::Stage::answering;
  if (piece.end < call.items_) {
    call.stage_ = MasterCall::Stage::queued;
    queue_.push_back(&call);
  }
  machine_->apply(now(), call.ticket_, call.request, effects_, piece);
  if (call.items_ == 0) answered_.push_back(&call);
  carry_out();
  serve_next();
}

void MasterServer::tick() {
  machine_->tick(now(), effects_);
  carry_out();
}

void MasterServer::carry_out() {
  for (const StateRecord& record : effects_.records) {
    if (const auto* known = std::get_if<NodeKnown>(&record)) {
      disk_.known.push_back(*known);
    } else if (const auto* lost = std::get_if<NodeLost>(&record)) {
      std::erase_if(disk_.known, [lost](const NodeKnown& each) {
        return each.incarnation == lost->incarnation;
      });
      disk_.lost.push_back(lost->incarnation);
    } else if (const auto* over = std::get_if<RecoveryEnded>(&record)) {
      disk_.recovered_epoch = over->epoch;
    }
  }
  std::int64_t evicted = 0;
  for (const ObjectEvent& event : effects_.events) {
    evicted += event.kind == ObjectEvent::Kind::evicted ? 1 : 0;
    if (event.kind != ObjectEvent::Kind::stored) watcher_.object_left(event);
  }
  if (evicted > 0) occupy(costs_.eviction * evicted);
  for (MasterCall* call : answered_) {
    slots_[call->slot_].ticket = 0;
    call->stage_ = MasterCall::Stage::returning;
    kernel_.arm_in(*call, costs_.message);
  }
  answered_.clear();
  for (Command& command : effects_.commands) watcher_.command(command);
  effects_.clear();
  const std::optional<Time> due = machine_->next_deadline();
  if (!due) return kernel_.cancel(tick_);
  const Time at = std::max(*due, now() + tick_pause);
  kernel_.arm(tick_, Instant{} + (at - clock_begin));
}

// ---- lives --------------------------------------------------------------------------------------

void MasterServer::node_disconnected(IncarnationId incarnation, std::uint64_t registration) {
  if (!alive()) return;
  machine_->node_disconnected(now(), incarnation, registration);
  carry_out();
}

void MasterServer::crash() {
  LARDER_ASSERT(alive());
  machine_.reset();
  stop_serving();
  kernel_.cancel(tick_);
  queue_.clear();
  for (const Slot& slot : slots_) {
    if (slot.call == nullptr) continue;
    const MasterCall::Stage stage = slot.call->stage_;
    if (stage == MasterCall::Stage::queued || stage == MasterCall::Stage::answering) {
      slot.call->asked_again();
      park(*slot.call);
    }
  }
}

void MasterServer::restart() {
  LARDER_ASSERT(!alive());
  make_machine();
  carry_out();
  // Whoever had a session says so first.
  watcher_.master_back();
  for (const Slot& slot : slots_) {
    if (slot.call == nullptr || slot.call->stage_ != MasterCall::Stage::parked) continue;
    slot.call->stage_ = MasterCall::Stage::going;
    // Who tries in vain does so less and less often.
    constexpr std::uint32_t attempts = 6;
    kernel_.arm_in(*slot.call, retry_delay(attempts, random_.unit()) + costs_.message);
  }
}

}  // namespace larder::sim
