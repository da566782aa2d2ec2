#include "sim/explore/seed_world.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace larder::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Clocks of two hosts drift apart by at most 0.5 %, which leases promise to bear.
constexpr std::int64_t drift_ppb = 2'500'000;
// Longer than any time-out of the protocol at these sizes.
constexpr Duration time_to_rest = seconds(60);

WorldConfig world_config(std::uint64_t seed, const Swarm& swarm, const Guards& guards) {
  WorldConfig config{.seed = seed, .guards = guards, .checksum = swarm.checksum};
  config.network.chunk = std::max(64_B, swarm.object_max / 8);
  config.transport.one_sided = swarm.one_sided;
  config.master.config.policy = swarm.policy;
  config.master.config.seed = seed;
  return config;
}

}  // namespace

SeedWorld::SeedWorld(std::uint64_t seed, const ExploreConfig& config)
    : seed_(seed),
      config_(config),
      random_(Random(seed).fork(1)),
      swarm_(draw_swarm(Random(seed).fork(2))),
      world_(world_config(seed, swarm_, config.guards), history_) {
  history_.watch(world_.kernel());
  const auto host = [&](const std::string& name) -> Host& {
    ClockError clock{.offset = seconds(random_.below(1'000'000))};
    if (swarm_.drifting_clocks) {
      clock.parts_per_billion = static_cast<std::int64_t>(random_.below(2 * drift_ppb)) - drift_ppb;
    }
    return world_.add_host(HostSpec{.name = name, .nic_per_second = swarm_.nic_per_second}, clock);
  };
  master_ = &world_.add_master(host("master"));
  for (std::uint32_t i = 0; i < swarm_.nodes; ++i) {
    world_.add_node(host("node" + std::to_string(i)), *master_, {.segments = {swarm_.segment}});
  }
  for (std::uint32_t i = 0; i < swarm_.clients; ++i) {
    world_.add_client(host("client" + std::to_string(i)), *master_);
  }
  world_.run_for(seconds(1));
  world_.network().set_faults(swarm_.network);
}

void SeedWorld::run_under_faults() {
  constexpr int steps_per_check = 64;
  for (int step = 1; history_.counts().began < config_.operations; ++step) {
    std::size_t in_flight = 0;
    for (const auto& client : world_.clients()) in_flight += client->operations();
    for (; in_flight < swarm_.in_flight; ++in_flight) begin_operation();
    const Duration passed{static_cast<std::int64_t>(1000 + random_.below(20'000'000))};
    world_.run_for(passed);
    end_outages(world_.kernel().now());
    draw_faults(passed);
    if (step % steps_per_check == 0) world_.check_invariants();
  }
}

std::string SeedWorld::draw_key() { return "key" + std::to_string(random_.below(swarm_.keys)); }

PutWanted SeedWorld::draw_put() {
  PutWanted put{.key = draw_key(), .size = {1 + random_.below(swarm_.object_max.value)}};
  put.replicas = 1 + static_cast<std::uint32_t>(random_.below(3));
  if (random_.chance(swarm_.groups)) put.group = "group" + std::to_string(random_.below(4));
  if (random_.chance(0.3)) put.parent = draw_key();
  if (random_.chance(0.1)) put.time_to_live = milliseconds(1 + random_.below(20'000));
  if (random_.chance(0.1)) put.soft_pin = milliseconds(1 + random_.below(20'000));
  return put;
}

void SeedWorld::begin_operation() {
  ClientProcess& client = *world_.clients()[random_.below(world_.clients().size())];
  if (!client.alive()) return;
  const Duration time =
      random_.chance(swarm_.short_deadlines) ? milliseconds(1 + random_.below(2'000)) : Duration(0);
  const double kind = random_.unit();
  const std::uint64_t items = random_.chance(0.3) ? 2 + random_.below(4) : 1;
  const auto keys = [&] {
    std::vector<std::string> list;
    for (std::uint64_t i = 0; i < items; ++i) list.push_back(draw_key());
    return list;
  };
  if (kind < swarm_.removes) {
    history_.begins(client.remove(keys(), random_.chance(swarm_.forced), time));
  } else if (kind < swarm_.removes + swarm_.exists) {
    history_.begins(client.exists(keys(), time));
  } else if (random_.chance(0.45)) {
    const bool upsert = random_.chance(swarm_.upserts);
    std::vector<PutWanted> puts;
    for (std::uint64_t i = 0; i < items; ++i) puts.push_back(draw_put());
    const OperationId id = client.put(std::move(puts), upsert, time);
    upsert ? history_.upsert_begins(id) : history_.begins(id);
  } else {
    std::vector<GetWanted> gets;
    for (const std::string& key : keys()) gets.push_back({.key = key, .room = swarm_.object_max});
    history_.begins(client.get(std::move(gets), time));
  }
}

// Whether something that comes once in `mean` came in `passed`.
bool SeedWorld::due(Duration mean, Duration passed) {
  if (mean == Duration(0)) return false;
  const double rate = static_cast<double>(passed.count()) / static_cast<double>(mean.count());
  return random_.chance(1 - std::exp(-rate));
}

void SeedWorld::draw_faults(Duration passed) {
  if (due(swarm_.between_client_crashes, passed)) crash_one(Outage::Kind::client);
  if (due(swarm_.between_node_crashes, passed)) crash_one(Outage::Kind::node);
  if (due(swarm_.between_master_crashes, passed)) crash_one(Outage::Kind::master);
  if (due(swarm_.between_stops, passed)) stop_one();
  if (due(swarm_.between_partitions, passed)) {
    const HostId host{static_cast<std::uint32_t>(random_.below(world_.network().hosts()))};
    world_.network().isolate({&host, 1});
    outages_.push_back({.kind = Outage::Kind::partition,
                        .until = world_.kernel().now() + milliseconds(1 + random_.below(20'000))});
  }
}

void SeedWorld::crash_one(Outage::Kind kind) {
  Outage outage{.kind = kind,
                .until = world_.kernel().now() + milliseconds(1 + random_.below(5'000))};
  if (kind == Outage::Kind::client) {
    outage.index = random_.below(world_.clients().size());
    ClientProcess& client = *world_.clients()[outage.index];
    if (!client.alive()) return;
    client.crash();
  } else if (kind == Outage::Kind::node) {
    outage.index = random_.below(world_.nodes().size());
    NodeProcess& node = *world_.nodes()[outage.index];
    if (!node.alive()) return;
    node.crash();
  } else {
    if (!master_->alive()) return;
    master_->crash();
  }
  outages_.push_back(outage);
}

std::vector<Process*> SeedWorld::processes() {
  std::vector<Process*> all{master_};
  for (const auto& node : world_.nodes()) all.push_back(node.get());
  for (const auto& client : world_.clients()) all.push_back(client.get());
  return all;
}

void SeedWorld::stop_one() {
  const std::vector<Process*> all = processes();
  const std::size_t index = random_.below(all.size());
  if (!all[index]->alive() || all[index]->stopped()) return;
  all[index]->stop();
  // Some for longer than anyone's patience.
  outages_.push_back({.kind = Outage::Kind::stop,
                      .index = index,
                      .until = world_.kernel().now() + milliseconds(1 + random_.below(40'000))});
}

void SeedWorld::end_outages(Instant until) {
  for (std::size_t i = 0; i < outages_.size();) {
    if (outages_[i].until > until) {
      ++i;
      continue;
    }
    const Outage over = outages_[i];
    outages_.erase(outages_.begin() + static_cast<std::ptrdiff_t>(i));
    end(over);
  }
}

void SeedWorld::end(const Outage& outage) {
  switch (outage.kind) {
    case Outage::Kind::client:
      if (!world_.clients()[outage.index]->alive()) world_.clients()[outage.index]->start();
      break;
    case Outage::Kind::node:
      if (!world_.nodes()[outage.index]->alive()) world_.nodes()[outage.index]->start();
      break;
    case Outage::Kind::master:
      if (!master_->alive()) master_->start();
      break;
    case Outage::Kind::stop: {
      Process* process = processes()[outage.index];
      if (process->alive() && process->stopped()) process->go_on();
      break;
    }
    case Outage::Kind::partition:
      world_.network().heal();
      break;
  }
}

void SeedWorld::run_to_rest() {
  world_.network().set_faults(LinkFaults{});
  world_.network().heal();
  end_outages(instant_never);
  // A master that met a higher epoch has ended by itself.
  if (!master_->alive()) master_->start();
  if (!world_.run_until_idle(seconds(120))) {
    history_.report(Invariant::operations_end, "operations are still under way after 120 s");
  }
  world_.run_for(time_to_rest);
  world_.check_invariants();
  check_service();
  world_.run_for(time_to_rest);
  check_rest();
  world_.check_invariants();
}

bool SeedWorld::wait_for(const std::vector<OperationId>& operations) {
  return world_.run_until_idle(seconds(60)) &&
         std::ranges::all_of(operations, [&](OperationId id) { return history_.succeeded(id); });
}

// Every client can store something new and read what another one has stored.
void SeedWorld::check_service() {
  std::vector<OperationId> puts;
  const auto& clients = world_.clients();
  const auto key = [](std::size_t i) { return "fresh" + std::to_string(i); };
  for (std::size_t i = 0; i < clients.size(); ++i) {
    puts.push_back(clients[i]->put({{.key = key(i), .size = swarm_.object_max / 2}}));
    history_.begins(puts.back());
    if (!wait_for({puts.back()})) {
      history_.report(Invariant::pool_serves, "a fresh put of client " + std::to_string(i) +
                                                  " fails although all faults are over");
    }
    const OperationId get =
        clients[(i + 1) % clients.size()]->get({{.key = key(i), .room = swarm_.object_max}});
    history_.begins(get);
    if (!wait_for({get})) {
      history_.report(Invariant::pool_serves,
                      "a fresh object of client " + std::to_string(i) + " cannot be read");
    }
  }
}

// Each extent is free on both sides, or sealed and in the directory.
void SeedWorld::check_rest() {
  const StatusReport books = master_->machine()->status(master_->now());
  Bytes sealed;
  for (const auto& node : world_.nodes()) {
    if (node->machine() == nullptr) {
      history_.report(Invariant::space_returns, node->host().name + " is not back");
      continue;
    }
    const NodeStatus status = node->machine()->status(node->now());
    sealed += status.bytes[std::size_t(FillState::sealed)];
    if (status.extents[std::size_t(FillState::filling)] != 0 ||
        status.extents[std::size_t(FillState::retiring)] != 0) {
      history_.report(Invariant::space_returns,
                      node->host().name + " still fills or retires extents");
    }
  }
  if (books.unfinished_puts != 0 || books.quarantined != 0_B) {
    history_.report(Invariant::space_returns,
                    "the master still has " + std::to_string(books.unfinished_puts) +
                        " unfinished puts and " + std::to_string(books.quarantined.value) +
                        " bytes in quarantine");
  }
  if (books.used != sealed) {
    history_.report(Invariant::space_returns,
                    "the master counts " + std::to_string(books.used.value) +
                        " bytes as used, the nodes hold " + std::to_string(sealed.value));
  }
  if (books.nodes.size() != world_.nodes().size()) {
    history_.report(Invariant::space_returns, std::to_string(books.nodes.size()) + " of " +
                                                  std::to_string(world_.nodes().size()) +
                                                  " nodes are in the pool");
  }
}

SeedResult SeedWorld::result() const {
  const History::Counts& counts = history_.counts();
  auto& kernel = const_cast<World&>(world_).kernel();
  return {.seed = seed_,
          .state_hash = kernel.hash(),
          .events = kernel.fired_events(),
          .operations = counts.began,
          .gets_ok = counts.gets_ok,
          .puts_ok = counts.puts_ok,
          .virtual_time = kernel.now() - Instant{},
          .faults = swarm_.fault_names(),
          .violations = history_.violations()};
}

}  // namespace larder::sim
