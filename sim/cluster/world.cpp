#include "sim/cluster/world.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "sim/cluster/footer_check.h"
#include "sim/fabric/fair_share.h"

namespace larder::sim {

World::World(const WorldConfig& config, Observer& observer)
    : config_(config),
      observer_(observer),
      kernel_(config.seed),
      network_(kernel_, config.network, std::make_unique<FairShare>()) {}

World::~World() {
  for_each_process([](auto& process) { process.crash(); });
  network_.drop_all();
}

template <class Visit>
void World::for_each_process(Visit&& visit) {
  for (const auto& client : clients_) visit(*client);
  for (const auto& node : nodes_) visit(*node);
  for (const auto& master : masters_) visit(*master);
}

Host& World::add_host(HostSpec spec, ClockError clock) {
  const HostId id = network_.add_host(spec);
  hosts_.push_back(std::make_unique<Host>(
      Host{.id = id, .name = std::move(spec.name), .clock = HostClock(clock)}));
  return *hosts_.back();
}

MasterProcess& World::add_master(Host& host) { return add_master(host, config_.master); }

MasterProcess& World::add_master(Host& host, const MasterSettings& settings) {
  MasterProcess& master = add_idle_master(host, settings);
  master.start();
  return master;
}

MasterProcess& World::add_idle_master(Host& host, const MasterSettings& settings) {
  const std::size_t number = masters_.size();
  MasterSettings own = settings;
  own.config.timing = config_.timing;
  own.config.guards = config_.guards;
  masters_.push_back(std::make_unique<MasterProcess>(kernel_, host, observer_,
                                                     host.name + ":master" + std::to_string(number),
                                                     own, kernel_.random("master", number)));
  return *masters_.back();
}

NodeProcess& World::add_node(Host& host, MasterProcess& master, const NodeWanted& wanted) {
  const std::size_t number = nodes_.size();
  const std::string name = host.name + ":node" + std::to_string(number);
  const NodeSettings settings{.config = {.name = name,
                                         .endpoint = name,
                                         .host = host.name,
                                         .rack = wanted.rack,
                                         .timing = config_.timing,
                                         .guards = config_.guards},
                              .segments = wanted.segments,
                              .content = config_.transport.content};
  nodes_.push_back(std::make_unique<NodeProcess>(kernel_, network_, host, observer_, master,
                                                 settings, kernel_.random("node", number)));
  nodes_by_endpoint_[name] = nodes_.back().get();
  nodes_.back()->start();
  return *nodes_.back();
}

ClientProcess& World::add_client(Host& host, MasterProcess& master, const ClientWanted& wanted) {
  const std::size_t number = clients_.size();
  const ClientSettings settings{.config = {.tenant = wanted.tenant,
                                           .name = host.name + ":client" + std::to_string(number),
                                           .host = host.name,
                                           .timing = config_.timing,
                                           .guards = config_.guards,
                                           .checksum = config_.checksum},
                                .transport = config_.transport};
  const ClientSurroundings surroundings{.network = network_,
                                        .nodes = nodes_by_endpoint_,
                                        .observer = observer_,
                                        .last_operation = last_operation_,
                                        .last_write = last_write_};
  clients_.push_back(std::make_unique<ClientProcess>(kernel_, host, master, settings, surroundings,
                                                     kernel_.random("client", number)));
  clients_.back()->start();
  return *clients_.back();
}

MasterProcess& World::add_idle_master(Host& host, MasterProcess& shares_with) {
  MasterProcess& master = add_idle_master(host, config_.master);
  master.share_state_directory(shares_with);
  return master;
}

void World::move_node(NodeProcess& node, std::string endpoint, std::vector<Bytes> segments) {
  nodes_by_endpoint_[endpoint] = &node;  // whoever looks for it under an old name finds nobody
  node.move(std::move(endpoint), std::move(segments));
}

void World::crash_host(Host& host) {
  const std::array island{host.id};
  network_.isolate(island);
  for_each_process([&](auto& process) {
    if (&process.host() == &host) process.crash();
  });
}

void World::power_on(Host& host) {
  for (const std::unique_ptr<Host>& other : hosts_) {
    if (other.get() == &host) continue;
    network_.set_blocked({.from = host.id, .to = other->id}, false);
    network_.set_blocked({.from = other->id, .to = host.id}, false);
  }
}

bool World::run_until_idle(Duration time) {
  const Instant end = later(kernel_.now(), time);
  const auto idle = [this] {
    return std::ranges::all_of(clients_, [](const auto& each) { return each->operations() == 0; });
  };
  while (!idle()) {
    if (kernel_.next_due() > end) return false;
    kernel_.step();
  }
  return true;
}

void World::check_machines() const {
  for (const auto& master : masters_) {
    if (master->alive()) master->machine()->check_invariants();
  }
  for (const auto& node : nodes_) {
    if (node->alive()) node->machine()->check_invariants();
  }
}

void World::check_invariants() {
  check_machines();
  for (const auto& node : nodes_) {
    if (!node->alive()) continue;
    node->for_each_memory([&](SegmentId segment, const TrackedMemory& memory) {
      check_footers(memory, "segment " + to_string(segment) + " of " + node->endpoint(),
                    [this](const std::string& what) { observer_.violation(what); });
    });
  }
}

}  // namespace larder::sim
