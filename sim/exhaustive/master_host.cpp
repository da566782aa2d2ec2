#include "sim/exhaustive/master_host.h"

#include <utility>

#include "core/base/assert.h"
#include "core/protocol/identity.h"
#include "sim/exhaustive/pool.h"

namespace larder::sim {

void MasterHost::start() {
  LARDER_ASSERT(!alive());
  ++life_;
  const Epoch epoch = pool_.next_epoch();
  disk_->last_epoch = epoch;
  auto machine =
      Master::make(pool_.now(), pool_.master_config(),
                   {.epoch = epoch, .instance = {.high = index_ + 1u, .low = life_}}, disk_->state);
  LARDER_ASSERT(machine.has_value(), "the small world's timing makes no sense");
  machine_ = std::move(*machine);
}

void MasterHost::crash() {
  if (!alive()) return;
  waiting_.clear();
  answered_.clear();
  effects_.clear();
  gone_.clear();
  machine_.reset();
  pool_.master_is_gone(index_);
}

// The name of a call, whatever came before it, so that two histories give it the same.
void MasterHost::serve(const Asked& asked, const Request& request) {
  const Ticket ticket =
      (std::uint64_t{asked.client + 1} << 40) | (std::uint64_t{asked.call} << 16) | asked.times;
  apply(ticket, {.client = asked, .answers = {}}, request);
}

void MasterHost::serve_node(std::uint32_t node, std::uint64_t ticket, const Request& request) {
  constexpr Ticket of_node = Ticket{1} << 63;
  apply(of_node | node, {.client = {}, .node = node, .node_ticket = ticket, .answers = {}},
        request);
}

void MasterHost::apply(Ticket ticket, Waiting waiting, const Request& request) {
  waiting.missing = answer_count(request.body);
  waiting.answers.resize(waiting.missing);
  waiting_[ticket] = std::move(waiting);
  machine_->apply(pool_.now(), ticket, request, effects_);
  carry_out();
}

void MasterHost::tick() {
  machine_->tick(pool_.now(), effects_);
  carry_out();
}

void MasterHost::notice_gone() {
  const Gone gone = gone_.front();
  gone_.pop_front();
  machine_->node_disconnected(pool_.now(), gone.incarnation, gone.registration);
  if (pool_.tells()) pool_.tell("master" + std::to_string(index_), "loses a node's connection");
}

void MasterHost::answer(Ticket ticket, std::uint32_t index, const Answer& answer) {
  const auto waiting = waiting_.find(ticket);
  LARDER_ASSERT(waiting != waiting_.end(), "an answer to no request, or a second one");
  std::optional<Answer>& place = waiting->second.answers.at(index);
  LARDER_ASSERT(!place.has_value(), "answered twice");
  place = answer;
  if (pool_.tells()) pool_.tell_answer("master" + std::to_string(index_), answer);
  if (--waiting->second.missing == 0) answered_.push_back(ticket);
}

void MasterHost::carry_out() {
  for (const StateRecord& record : effects_.records) disk_->keep(record);
  for (const Ticket ticket : std::exchange(answered_, {})) {
    const auto place = waiting_.find(ticket);
    const Waiting waiting = std::move(place->second);
    waiting_.erase(place);
    Reply reply{.epoch = machine_->epoch(), .answers = {}};
    for (const std::optional<Answer>& answer : waiting.answers) reply.answers.push_back(*answer);
    if (waiting.client) {
      pool_.reply(*waiting.client, std::move(reply));
    } else {
      pool_.answer_node(waiting.node, waiting.node_ticket, std::move(reply.answers.at(0)));
    }
  }
  for (const Command& command : effects_.commands) pool_.command(index_, command);
  effects_.clear();
  if (!machine_->superseded()) return;
  if (pool_.tells()) pool_.tell("master" + std::to_string(index_), "ends: a newer master leads");
  crash();
}

void MasterHost::add_identity(Identity& identity) const {
  identity.add(alive()).add(life_).add(disk_->last_epoch.value);
  identity.add(disk_->state.recovered_epoch.value);
  for (const NodeKnown& known : disk_->state.known) identity.add(known.incarnation);
  identity.unordered(disk_->state.lost, [&](const IncarnationId& id) { identity.add(id); });
  if (!alive()) return;
  for (const auto& [ticket, waiting] : waiting_) {
    identity.add(ticket);
    for (const auto& answer : waiting.answers) {
      identity.add(answer.has_value());
      if (answer) larder::add_identity(*answer, identity);
    }
  }
  for (const Gone& gone : gone_) identity.add(gone.incarnation).add(gone.registration);
  machine_->add_identity(identity, pool_.now());
}

}  // namespace larder::sim
