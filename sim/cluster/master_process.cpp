#include "sim/cluster/master_process.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/assert.h"
#include "sim/cluster/labels.h"
#include "sim/cluster/node_process.h"
#include "sim/cluster/observer.h"

namespace larder::sim {

namespace {

// What the wall clock shows at the world's beginning. Any date would do.
constexpr std::uint64_t wall_begin_ms = 1'700'000'000'000;
constexpr Duration tick_pause = std::chrono::microseconds(10);

}  // namespace

MasterProcess::MasterProcess(Kernel& kernel, Host& host, Observer& observer, std::string endpoint,
                             const MasterSettings& settings, Random random)
    : Process(kernel, host, observer),
      endpoint_(std::move(endpoint)),
      settings_(settings),
      random_(random),
      disk_(std::make_shared<StateDirectory>(
          StateDirectory{.state = {.durable = settings.durable}, .last_epoch = {}})),
      effects_(*this),
      service_(*this, service_label, [this] { serve(); }),
      tick_(*this, tick_label, [this] {
        machine_->tick(now(), effects_);
        carry_out();
      }) {}

void MasterProcess::start() {
  begin_life();
  const std::int64_t since_begin = now().time_since_epoch().count() / 1'000'000;
  const std::uint64_t wall = wall_begin_ms + static_cast<std::uint64_t>(since_begin);
  const std::uint64_t upper = std::max(wall, (disk_->last_epoch.value >> 16) + 1);
  const std::uint64_t low = random_.next() & 0xffff;
  const MasterIdentity identity{
      .epoch = {upper << 16 | (settings_.epochs_of_clock ? 0 : low)},
      .instance = {.high = random_.next(), .low = random_.next()},
  };
  if (settings_.durable) disk_->last_epoch = identity.epoch;
  MasterConfig config = settings_.config;
  if (settings_.lock_step) {
    config = in_lock_step(std::move(config));
  } else {
    config.seed = random_.next();
  }
  auto machine = Master::make(now(), config, identity, disk_->state);
  LARDER_ASSERT(machine.has_value(), "the simulated master's configuration makes no sense");
  machine_ = std::move(*machine);
  arm_tick();
}

void MasterProcess::crash() {
  if (!alive()) return;
  end_life();
  service_.disarm();
  tick_.disarm();
  for (const NodeLink& link : std::exchange(links_, {})) {
    link.connection->close(Connection::End::acceptor);
  }
  queue_.clear();
  waiting_.clear();
  answered_.clear();
  effects_.clear();
  machine_.reset();
}

void MasterProcess::receive(std::shared_ptr<const OwnedRequest> request, Answerer answer) {
  queue_.push_back({.request = std::move(request), .answer = std::move(answer)});
  serve_next();
}

void MasterProcess::serve_next() {
  if (queue_.empty() || service_.armed()) return;
  const std::size_t items = answer_count(queue_.front().request->get().body);
  service_.arm_in(settings_.service +
                  settings_.service_per_item * static_cast<std::int64_t>(items));
}

void MasterProcess::serve() {
  const Queued served = std::move(queue_.front());
  queue_.pop_front();
  ++served_;
  const Request& request = served.request->get();
  const Ticket ticket = next_ticket_++;
  const std::size_t count = answer_count(request.body);
  waiting_[ticket] = {.request = served.request,
                      .answer = served.answer,
                      .answers = std::vector<std::optional<Answer>>(count),
                      .missing = count};
  if (count == 0) answered_.push_back(ticket);
  machine_->apply(now(), ticket, request, effects_);
  carry_out();
  if (alive()) serve_next();
}

void MasterProcess::answer(Ticket ticket, std::uint32_t index, const Answer& answer) {
  const auto waiting = waiting_.find(ticket);
  LARDER_ASSERT(waiting != waiting_.end(), "an answer to no request, or a second one");
  std::optional<Answer>& place = waiting->second.answers.at(index);
  LARDER_ASSERT(!place.has_value(), "answered twice");
  place = answer;
  observer().master_answered(*this, waiting->second.request->get(), index, answer);
  if (--waiting->second.missing == 0) answered_.push_back(ticket);
}

void MasterProcess::carry_out() {
  if (settings_.durable) {
    for (const StateRecord& record : effects_.records) disk_->keep(record);
  }
  for (const Ticket ticket : std::exchange(answered_, {})) {
    const auto place = waiting_.find(ticket);
    const Waiting waiting = std::move(place->second);
    waiting_.erase(place);
    Reply reply{.epoch = machine_->epoch()};
    for (const std::optional<Answer>& answer : waiting.answers) reply.answers.push_back(*answer);
    waiting.answer(reply);
  }
  observer().master_stepped(*this);
  for (const Command& command : effects_.commands) {
    observer().master_commanded(*this, command);
    const auto link = std::ranges::find(links_.rbegin(), links_.rend(), command.incarnation,
                                        &NodeLink::incarnation);
    if (link != links_.rend()) link->node->send_command(link->connection, command);
  }
  effects_.clear();
  if (machine_->superseded()) {
    observer().master_superseded(*this);
    return crash();
  }
  arm_tick();
}

void StateDirectory::keep(const StateRecord& record) {
  if (const auto* known = std::get_if<NodeKnown>(&record)) {
    state.known.push_back(*known);
  } else if (const auto* lost = std::get_if<NodeLost>(&record)) {
    std::erase_if(state.known,
                  [lost](const NodeKnown& each) { return each.incarnation == lost->incarnation; });
    state.lost.push_back(lost->incarnation);
  } else if (const auto* ended = std::get_if<RecoveryEnded>(&record)) {
    state.recovered_epoch = ended->epoch;
  } else {
    last_epoch = std::max(last_epoch, std::get<NewerEpoch>(record).epoch);
  }
}

void MasterProcess::arm_tick() {
  if (settings_.lock_step) return;
  const std::optional<Time> due = machine_->next_deadline();
  // What is left over for the next tick must not keep virtual time from passing.
  tick_.arm(due ? std::max(*due, now() + tick_pause) : time_never);
}

void MasterProcess::accept(std::shared_ptr<Connection> connection, NodeProcess& node) {
  connection->on_close(Connection::End::acceptor, [this, weak = std::weak_ptr(connection)] {
    enter([this, weak] {
      if (const auto gone = weak.lock()) node_gone(gone);
    });
  });
  links_.push_back({.connection = std::move(connection), .node = &node});
}

void MasterProcess::receive_from_node(const std::shared_ptr<Connection>& connection,
                                      std::shared_ptr<const OwnedRequest> request,
                                      Answerer answer) {
  NodeLink* link = link_of(connection);
  if (link == nullptr) return;  // of an earlier life
  if (const auto* registers = std::get_if<RegisterNode>(&request->get().body)) {
    link->incarnation = registers->incarnation;
    link->registration = registers->registration;
  }
  receive(std::move(request), std::move(answer));
}

void MasterProcess::node_gone(const std::shared_ptr<Connection>& connection) {
  const NodeLink* link = link_of(connection);
  if (link == nullptr) return;
  if (link->incarnation) {
    machine_->node_disconnected(now(), link->incarnation, link->registration);
  }
  std::erase_if(links_, [&](const NodeLink& each) { return each.connection == connection; });
  arm_tick();
}

MasterProcess::NodeLink* MasterProcess::link_of(const std::shared_ptr<Connection>& connection) {
  const auto link = std::ranges::find(links_, connection, &NodeLink::connection);
  return link == links_.end() ? nullptr : &*link;
}

}  // namespace larder::sim
