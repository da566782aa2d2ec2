#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/cluster/client_process.h"
#include "sim/cluster/master_process.h"
#include "sim/cluster/node_process.h"
#include "sim/cluster/observer.h"
#include "sim/fabric/network.h"
#include "sim/kernel/kernel.h"

namespace larder::sim {

// What holds for all processes of a world, unless one is added with settings of its own.
struct WorldConfig {
  std::uint64_t seed = 1;
  Network::Config network;
  Timing timing;
  Guards guards;
  bool checksum = true;
  MasterSettings master;        // its timing and guards are those above
  TransportSettings transport;  // content: false for capacity runs
};

// A pool in virtual time: masters, nodes and clients on hosts of one network, running the core's
// machines unchanged. Whoever uses it builds it up, starts operations and faults, lets time pass,
// and sees through the observer what the clients saw. The same seed and the same calls give the
// same world: kernel().hash() says so.
//
//   World world({.seed = 7}, observer);
//   MasterProcess& master = world.add_master(world.add_host("m"));
//   world.add_node(world.add_host("a"), master, {.segments = {1_MiB}});
//   ClientProcess& client = world.add_client(world.add_host("b"), master);
//   world.run_for(1s);
//   client.put({{.key = "k", .size = 4_KiB}});
//   world.run_for(1s);
//
// Faults: crash() and start() of a process; stop() and go_on(); crash_host(); of links, partitions
// and NICs, network(); of clocks, host.clock. Confined to one thread; worlds share nothing.
class World {
 public:
  World(const WorldConfig& config, Observer& observer);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Kernel& kernel() { return kernel_; }
  Network& network() { return network_; }

  Host& add_host(HostSpec spec, ClockError clock = {});
  Host& add_host(std::string name) { return add_host(HostSpec{.name = std::move(name)}); }

  // Each is alive from now on, under the name of its host and its number. All live as long as the
  // world; their references stay valid through crashes.
  MasterProcess& add_master(Host& host);
  MasterProcess& add_master(Host& host, const MasterSettings& settings);
  // One that is not alive yet, perhaps with the state directory of another.
  MasterProcess& add_idle_master(Host& host) { return add_idle_master(host, config_.master); }
  MasterProcess& add_idle_master(Host& host, const MasterSettings& settings);
  MasterProcess& add_idle_master(Host& host, MasterProcess& shares_with);
  struct NodeWanted {
    std::vector<Bytes> segments;
    std::string rack;
  };
  NodeProcess& add_node(Host& host, MasterProcess& master, const NodeWanted& wanted);
  struct ClientWanted {
    std::string tenant = "default";
  };
  ClientProcess& add_client(Host& host, MasterProcess& master, const ClientWanted& wanted);
  ClientProcess& add_client(Host& host, MasterProcess& master) {
    return add_client(host, master, ClientWanted());
  }

  // It will start with this endpoint, which no node has had, and these segments. Precondition: it
  // is not alive.
  void move_node(NodeProcess& node, std::string endpoint, std::vector<Bytes> segments);

  const std::vector<std::unique_ptr<MasterProcess>>& masters() const { return masters_; }
  const std::vector<std::unique_ptr<NodeProcess>>& nodes() const { return nodes_; }
  const std::vector<std::unique_ptr<ClientProcess>>& clients() const { return clients_; }

  // Everything on the host dies at once and is out of reach: nobody is told. start() brings it back
  // only after power_on().
  void crash_host(Host& host);
  void power_on(Host& host);

  void run_for(Duration time) { kernel_.run_until(later(kernel_.now(), time)); }
  // Until no client has an operation under way, at most for `time`. Whether that came about.
  bool run_until_idle(Duration time);

  // Asserts the invariants of every machine.
  void check_machines() const;
  // The same, and tells the observer where one of the world's own is
  // broken: a valid footer in a segment names a put whose whole payload stands before it, with the
  // checksum that it says. Costs a pass over all segments.
  void check_invariants();

 private:
  template <class Visit>
  void for_each_process(Visit&& visit);

  const WorldConfig config_;
  Observer& observer_;
  Kernel kernel_;
  Network network_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<std::unique_ptr<MasterProcess>> masters_;
  std::vector<std::unique_ptr<NodeProcess>> nodes_;
  std::vector<std::unique_ptr<ClientProcess>> clients_;
  std::map<std::string, NodeProcess*, std::less<>> nodes_by_endpoint_;
  std::uint64_t last_operation_ = 0;
  std::uint64_t last_write_ = 0;
};

}  // namespace larder::sim
