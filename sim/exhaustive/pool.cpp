#include "sim/exhaustive/pool.h"

#include <algorithm>

#include "core/base/assert.h"
#include "sim/exhaustive/moving.h"

namespace larder::sim {
namespace {

constexpr int settling_steps_max = 10'000;

}  // namespace

Pool::Pool(const SmallWorld& world, const Guards& guards)
    : world_(world), guards_(guards), history_({.not_superseded = world.may.start_master1 == 0}) {
  history_.watch(steps_as_instants_);
  const Scenario& scenario = world.scenario;
  for (std::uint32_t i = 0; i < scenario.masters.size(); ++i) {
    auto disk = i > 0 && scenario.shared_state ? masters_[0]->disk()
                                               : std::make_shared<StateDirectory>(StateDirectory{
                                                     .state = {.durable = true}, .last_epoch = {}});
    masters_.push_back(std::make_unique<MasterHost>(*this, i, std::move(disk)));
  }
  for (std::uint32_t i = 0; i < scenario.nodes.size(); ++i) {
    nodes_.push_back(std::make_unique<NodeHost>(*this, i, scenario.nodes[i].segment));
  }
  for (std::uint32_t i = 0; i < scenario.clients.size(); ++i) {
    clients_.push_back(std::make_unique<ClientHost>(*this, i));
  }
  begin();
  left_ = world.may;
}

Pool::~Pool() {
  for (const auto& client : clients_) client->crash();
}

MasterConfig Pool::master_config() const {
  MasterConfig config;
  config.timing = world_.scenario.timing;
  config.guards = guards_;
  config.policy = world_.scenario.policy;
  config.seed = world_.scenario.seed;
  return config;
}

// In one order: everything that is to be there before the choices begin.
void Pool::begin() {
  masters_[0]->start();
  for (const auto& node : nodes_) node->start();
  settle();
  for (const auto& client : clients_) client->start();
  const OperationStep::Item nothing{
      .key = "nothing", .size = {}, .range_offset = {}, .group = {}, .parent = {}};
  for (std::uint32_t i = 0; i < clients_.size(); ++i) {
    do_before({.client = i, .operation = Operation::exists, .items = {nothing}});
  }
  for (const Step& step : world_.scenario.steps) {
    const auto& operation = std::get<OperationStep>(step.what);
    if (step.at == Duration(0)) {
      do_before(operation);
    } else {
      clients_[operation.client]->add_operation(operation);
    }
  }
}

void Pool::do_before(const OperationStep& step) {
  clients_[step.client]->add_operation(step);
  clients_[step.client]->begin();
  settle();
}

void Pool::settle() {
  std::vector<Action> next;
  for (int i = 0; i < settling_steps_max; ++i) {
    actions(next);
    const auto action = std::ranges::find_if_not(next, &Action::is_bounded);
    if (action == next.end()) return;
    take(*action);
  }
}

std::uint32_t Pool::node_at(const std::string& endpoint) const {
  const auto found =
      std::ranges::find(nodes_, endpoint, [](const auto& node) { return node->name(); });
  LARDER_ASSERT(found != nodes_.end(), "no node has ever had this endpoint");
  return static_cast<std::uint32_t>(found - nodes_.begin());
}

// ---- between the hosts --------------------------------------------------------------------------

void Pool::reply(const MasterHost::Asked& asked, Reply reply) {
  clients_[asked.client]->add_reply(asked.call, std::move(reply));
}

void Pool::answer_node(std::uint32_t node, std::uint64_t ticket, Answer answer) {
  nodes_[node]->answer(ticket, std::move(answer));
}

void Pool::command(std::uint32_t master, const Command& command) {
  for (const auto& node : nodes_) {
    if (node->alive() && node->master() == master && node->command(command)) return;
  }
}

// Whoever waits for it asks again, and its nodes look for it.
void Pool::master_is_gone(std::uint32_t master) {
  touched_.writes = Footprint::all;
  for (const auto& node : nodes_) {
    if (node->master() == master) node->break_connection();
  }
  for (const auto& client : clients_) {
    if (client->alive() && client->master() == master) client->ask_all_again();
  }
}

void Pool::connection_lost(std::uint32_t master, const MasterHost::Gone& gone) {
  if (masters_[master]->alive()) masters_[master]->lose_connection(gone);
}

void Pool::for_each_moving_at(std::uint32_t node, const std::function<void(Moving&)>& visit) {
  for (const auto& client : clients_) {
    for (const auto& [number, moving] : client->transfers()) {
      if (moving->node == node && moving->node_life == nodes_[node]->life()) visit(*moving);
    }
  }
}

// ---- what may happen ----------------------------------------------------------------------------

void Pool::actions(std::vector<Action>& into) const {
  into.clear();
  for (std::uint32_t i = 0; i < clients_.size(); ++i) add_actions_of_client(i, into);
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) add_actions_of_node(i, into);
  for (std::uint32_t i = 0; i < masters_.size(); ++i) add_actions_of_master(i, into);
  if (left_.pass > 0 && next_timer() < now_ + SmallWorld::endless / 4) {
    into.push_back({.kind = Action::Kind::pass});
  }
  std::ranges::sort(into);
}

void Pool::add_actions_of_client(std::uint32_t index, std::vector<Action>& into) const {
  using Kind = Action::Kind;
  const ClientHost& client = *clients_[index];
  const auto add = [&](Kind kind, std::uint16_t number = 0) {
    into.push_back({.kind = kind, .host = static_cast<std::uint8_t>(index), .number = number});
  };
  if (client.may_begin()) add(Kind::begin);
  const bool master = masters_[client.master()]->alive();
  for (const auto& [number, request] : client.requests()) {
    const bool on_its_way = request.copies > 0 || !request.replies.empty();
    if (master && request.copies > 0) add(Kind::request, number);
    if (master && request.copies > 0 && left_.twice > 0) add(Kind::twice, number);
    if (!request.replies.empty()) add(Kind::reply, number);
    if (on_its_way && request.served > 0 && left_.lose > 0) add(Kind::lose, number);
    const auto deadline = client.deadline_of(number);
    if (deadline && *deadline <= now_) add(Kind::call_late, number);
  }
  for (const auto& [number, timer] : client.timers()) {
    if (timer.deadline <= now_) add(Kind::timer, number);
  }
  for (const auto& [number, moving] : client.transfers()) {
    add_actions_of_transfer(index, number, *moving, into);
  }
  if (client.alive() && client.master() == 0 && masters_.size() > 1 && masters_[1]->alive()) {
    add(Kind::turn_client);
  }
  if (client.busy() && left_.crash_client[index] > 0) add(Kind::crash_client);
}

void Pool::add_actions_of_transfer(std::uint32_t client, std::uint16_t number, const Moving& moving,
                                   std::vector<Action>& into) const {
  using Kind = Action::Kind;
  using Stage = Moving::Stage;
  const auto add = [&](Kind kind, std::uint32_t part = 0) {
    into.push_back({.kind = kind,
                    .host = static_cast<std::uint8_t>(client),
                    .part = static_cast<std::uint8_t>(part),
                    .number = number});
  };
  const NodeHost& node = *nodes_[moving.node];
  const bool there = node.alive() && node.life() == moving.node_life && !moving.node_gone;
  const bool waits = moving.waits_at_client();
  if (moving.stage == Stage::asked && !moving.node_gone) add(Kind::reach);
  if (moving.stage == Stage::moving && there && waits) {
    for (std::uint32_t chunk = 0; chunk < moving.chunks; ++chunk) {
      if ((moving.moved >> chunk & 1) == 0) add(Kind::chunk, chunk);
    }
  }
  const bool whole = moving.stage == Stage::moving && there && moving.moved == moving.all_chunks();
  if (whole && !moving.one_sided) add(Kind::end);
  if (waits && (moving.stage == Stage::answered || (whole && moving.one_sided))) add(Kind::answer);
  if (waits && (moving.node_gone || (moving.one_sided && !there))) add(Kind::broken);
  if (!waits && !moving.one_sided && there && !moving.left_noticed &&
      (moving.stage == Stage::moving)) {
    add(Kind::left);
  }
  if (moving.stage == Stage::moving && there && moving.ending) add(Kind::give_up);
  if (waits && moving.deadline <= now_) add(Kind::transfer_late);
}

void Pool::add_actions_of_node(std::uint32_t index, std::vector<Action>& into) const {
  using Kind = Action::Kind;
  const NodeHost& node = *nodes_[index];
  const auto add = [&](Kind kind) {
    into.push_back({.kind = kind, .host = static_cast<std::uint8_t>(index)});
  };
  if (!node.alive()) {
    if (node.life() > 0) add(Kind::start_node);
    return;
  }
  const bool master = masters_[node.master()]->alive();
  if (node.has_up() && master) add(Kind::up);
  if (node.has_down()) add(Kind::down);
  if (!node.connected() && master) add(Kind::connect);
  if (node.verifies()) add(Kind::verify);
  const auto due = node.machine()->next_deadline();
  if (due && *due <= now_) add(Kind::tick_node);
  if (node.master() == 0 && masters_.size() > 1 && masters_[1]->alive()) add(Kind::turn_node);
  if (left_.crash_node[index] > 0) add(Kind::crash_node);
}

void Pool::add_actions_of_master(std::uint32_t index, std::vector<Action>& into) const {
  using Kind = Action::Kind;
  const MasterHost& master = *masters_[index];
  const auto add = [&](Kind kind) {
    into.push_back({.kind = kind, .host = static_cast<std::uint8_t>(index)});
  };
  if (!master.alive()) {
    if (index == 1 && left_.start_master1 > 0) add(Kind::start_master);
    return;
  }
  if (master.hears_of_gone()) add(Kind::gone);
  const auto due = master.machine()->next_deadline();
  if (due && *due <= now_) add(Kind::tick_master);
  if (left_.restart_master[index] > 0) add(Kind::restart_master);
}

Time Pool::next_timer() const {
  Time next = time_never;
  const auto consider = [&](std::optional<Time> time) {
    if (time && *time > now_) next = std::min(next, *time);
  };
  for (const auto& master : masters_) {
    if (master->alive()) consider(master->machine()->next_deadline());
  }
  for (const auto& node : nodes_) {
    if (node->alive()) consider(node->machine()->next_deadline());
  }
  for (const auto& client : clients_) {
    for (const auto& [number, timer] : client->timers()) consider(timer.deadline);
    for (const auto& [number, request] : client->requests()) consider(client->deadline_of(number));
    for (const auto& [number, moving] : client->transfers()) {
      if (moving->waits_at_client()) consider(moving->deadline);
    }
  }
  return next;
}

// ---- what happens -------------------------------------------------------------------------------

Footprint Pool::footprint_of(const Action& action) const {
  using Kind = Action::Kind;
  const std::uint32_t host = action.host;
  const auto node_at = [](std::uint32_t i) { return Footprint::node(i) | Footprint::memory(i); };
  const auto moving = [&]() -> const Moving& {
    return *clients_[host]->transfers().at(action.number);
  };
  switch (action.kind) {
    case Kind::begin:
      return {.writes = Footprint::client(host) | Footprint::history};
    case Kind::request:
      return {.writes = Footprint::master(clients_[host]->master())};
    case Kind::reply:
    case Kind::timer:
    case Kind::call_late:
    case Kind::transfer_late:
    case Kind::broken:
      return {.writes = Footprint::client(host)};
    case Kind::answer:
      return {.reads = moving().one_sided ? Footprint::memory(moving().node) : 0,
              .writes = Footprint::client(host)};
    case Kind::chunk:
      if (!moving().is_fill()) {
        return {.reads = Footprint::client(host) | Footprint::memory(moving().node)};
      }
      [[fallthrough]];
    case Kind::reach:
    case Kind::end:
    case Kind::give_up:
    case Kind::left:
      return {.reads = Footprint::client(host), .writes = node_at(moving().node)};
    case Kind::down:
    case Kind::verify:
    case Kind::tick_node:
      return {.writes = node_at(host)};
    case Kind::connect:
      return {.reads = Footprint::master(nodes_[host]->master()), .writes = node_at(host)};
    case Kind::up:
      return {.writes = Footprint::master(nodes_[host]->master())};
    case Kind::gone:
    case Kind::tick_master:
      return {.writes = Footprint::master(host)};
    case Kind::lose:
    case Kind::twice:
      return {.writes = Footprint::client(host) | Footprint::budget |
                        Footprint::master(clients_[host]->master())};
    default:
      return {.writes = Footprint::all};
  }
}

Footprint Pool::take(const Action& action) {
  using Kind = Action::Kind;
  ++steps_;
  steps_as_instants_.run_until(Instant{} + Duration(static_cast<std::int64_t>(steps_)));
  touched_ = footprint_of(action);
  switch (action.kind) {
    case Kind::begin:
    case Kind::request:
    case Kind::reply:
    case Kind::timer:
    case Kind::call_late:
    case Kind::turn_client:
      take_of_client(action);
      break;
    case Kind::reach:
    case Kind::chunk:
    case Kind::end:
    case Kind::answer:
    case Kind::broken:
    case Kind::left:
    case Kind::give_up:
    case Kind::transfer_late:
      take_of_transfer(action);
      break;
    default:
      if (action.is_bounded()) {
        take_bounded(action);
      } else {
        take_of_server(action);
      }
  }
  for (const auto& client : clients_) client->forget_ended();
  return touched_;
}

void Pool::take_of_client(const Action& action) {
  using Kind = Action::Kind;
  ClientHost& client = *clients_[action.host];
  switch (action.kind) {
    case Kind::begin:
      return client.begin();
    case Kind::request: {
      const auto request = client.requests().at(action.number).request;
      const std::uint32_t times = client.take_request(action.number, false);
      if (tells_) {
        tell("client" + std::to_string(action.host),
             "its " + std::string(request_name(request->get().body)) + " reaches master" +
                 std::to_string(client.master()));
      }
      return masters_[client.master()]->serve(
          {.client = action.host, .call = action.number, .times = times}, request->get());
    }
    case Kind::reply:
      return client.deliver_reply(action.number);
    case Kind::timer:
      return client.fire(action.number);
    case Kind::call_late:
      return client.call_late(action.number);
    default:
      if (tells_) tell("client" + std::to_string(action.host), "turns to master1");
      return client.turn(1);
  }
}

void Pool::take_of_transfer(const Action& action) {
  using Kind = Action::Kind;
  ClientHost& client = *clients_[action.host];
  const std::shared_ptr<Moving> moving = client.transfers().at(action.number);
  NodeHost& node = *nodes_[moving->node];
  switch (action.kind) {
    case Kind::reach:
      return node.reach(*moving);
    case Kind::chunk:
      if (tells_) {
        tell(node.name(), "chunk " + std::to_string(action.part + 1) + " of " +
                              std::to_string(moving->chunks) +
                              (moving->is_fill() ? " comes from client" : " goes to client") +
                              std::to_string(action.host));
      }
      return node.chunk(*moving, action.part);
    case Kind::end:
      return node.end(*moving);
    case Kind::answer:
      return client.deliver_answer(action.number);
    case Kind::broken:
      return client.notice_broken(action.number);
    case Kind::left:
      return node.notice_left(*moving);
    case Kind::give_up:
      return node.give_up(*moving);
    default:
      return client.transfer_late(action.number);
  }
}

void Pool::take_of_server(const Action& action) {
  using Kind = Action::Kind;
  const std::uint32_t host = action.host;
  switch (action.kind) {
    case Kind::verify:
      return nodes_[host]->verify();
    case Kind::up:
      return nodes_[host]->deliver_up();
    case Kind::down:
      return nodes_[host]->deliver_down();
    case Kind::connect:
      if (tells_) tell(nodes_[host]->name(), "has a connection to its master");
      return nodes_[host]->connect();
    case Kind::gone:
      return masters_[host]->notice_gone();
    case Kind::tick_master:
      if (tells_) tell("master" + std::to_string(host), "does what is due");
      return masters_[host]->tick();
    case Kind::tick_node:
      if (tells_) tell(nodes_[host]->name(), "does what is due");
      return nodes_[host]->tick();
    case Kind::start_node:
      if (tells_) tell(nodes_[host]->name(), "starts again, empty");
      return nodes_[host]->start();
    default:
      if (tells_) tell(nodes_[host]->name(), "turns to master1");
      return nodes_[host]->turn(1);
  }
}

void Pool::take_bounded(const Action& action) {
  using Kind = Action::Kind;
  const std::uint32_t host = action.host;
  const auto say = [&](const std::string& who, const std::string& what) {
    if (tells_) tell(who, what);
  };
  switch (action.kind) {
    case Kind::pass:
      --left_.pass;
      say("time", "moves to the next timer");
      now_ = next_timer();
      return;
    case Kind::crash_client:
      --left_.crash_client[host];
      say("client" + std::to_string(host), "FAULT: it dies");
      return clients_[host]->crash();
    case Kind::crash_node:
      --left_.crash_node[host];
      say(nodes_[host]->name(), "FAULT: it dies");
      return nodes_[host]->crash();
    case Kind::restart_master:
      --left_.restart_master[host];
      say("master" + std::to_string(host), "FAULT: it dies, and starts again");
      masters_[host]->crash();
      return masters_[host]->start();
    case Kind::start_master:
      --left_.start_master1;
      say("master1", "FAULT: it is started beside the other one");
      return masters_[1]->start();
    case Kind::lose:
      --left_.lose;
      say("client" + std::to_string(host), "FAULT: what is under way of a call is lost");
      return clients_[host]->ask_again(action.number);
    default: {
      --left_.twice;
      ClientHost& client = *clients_[host];
      const auto request = client.requests().at(action.number).request;
      const std::uint32_t times = client.take_request(action.number, true);
      say("client" + std::to_string(host),
          "FAULT: its " + std::string(request_name(request->get().body)) + " comes twice");
      masters_[client.master()]->serve({.client = host, .call = action.number, .times = times},
                                       request->get());
    }
  }
}

void Pool::check(const Footprint& touched) {
  for (std::uint32_t i = 0; i < masters_.size(); ++i) {
    if ((touched.writes & Footprint::master(i)) == 0 || !masters_[i]->alive()) continue;
    masters_[i]->machine()->check_invariants();
  }
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if ((touched.writes & Footprint::node(i)) != 0) nodes_[i]->check();
  }
}

// ---- what it is ---------------------------------------------------------------------------------

std::uint64_t Pool::identity() const {
  Identity identity;
  walk(identity);
  identity.rank_puts();
  walk(identity);
  return identity.value();
}

// Clients first: they wait for what the nodes and masters number.
void Pool::walk(Identity& identity) const {
  for (const auto& client : clients_) client->add_identity(identity);
  for (const auto& node : nodes_) node->add_identity(identity);
  for (const auto& master : masters_) master->add_identity(identity);
  identity.add(epochs_).add(history_.identity());
  for (const std::uint8_t each : left_.crash_client) identity.add(std::uint64_t{each});
  for (const std::uint8_t each : left_.crash_node) identity.add(std::uint64_t{each});
  for (const std::uint8_t each : left_.restart_master) identity.add(std::uint64_t{each});
  identity.add(left_.start_master1).add(left_.lose).add(left_.twice).add(left_.pass);
}

bool Pool::quiet() const {
  std::vector<Action> next;
  actions(next);
  return std::ranges::all_of(next, &Action::is_bounded);
}

}  // namespace larder::sim
