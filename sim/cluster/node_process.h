#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/node/node.h"
#include "core/protocol/owned_request.h"
#include "sim/cluster/exchange.h"
#include "sim/cluster/process.h"
#include "sim/fabric/connection.h"
#include "sim/fabric/content.h"

namespace larder::sim {

class MasterProcess;

struct NodeSettings {
  NodeConfig config;                // its endpoint names it to clients; unique in the world
  std::vector<Bytes> segments;      // their sizes
  bool content = true;              // segments have memory
  Duration reconnect{100'000'000};  // to its master; each time a part of this more
  Duration connect_timeout{3'000'000'000};
  Duration restart{200'000'000};  // after it was given up and has come to its end
};

// A node: the core's machine, the memory of its segments, its connection to its master, and the
// exchanges with clients. Each start is a new incarnation with empty memory.
class NodeProcess final : public Process, private SegmentMemory {
 public:
  NodeProcess(Kernel& kernel, Network& network, Host& host, Observer& observer,
              MasterProcess& master, const NodeSettings& settings, Random random);
  ~NodeProcess() override;

  const std::vector<Bytes>& segments() const { return settings_.segments; }
  const std::string& endpoint() const { return settings_.config.endpoint; }
  void start() override;
  void crash() override;
  // It closes its connection and looks for this master from now on.
  void obey(MasterProcess& master);
  // Its connection to its master breaks, and it looks for it again.
  void reset_connection();
  // From now on each of its requests reaches the master once more, so much later. Zero: no more.
  void set_echo(Duration later_by) { echo_ = later_by; }
  // Precondition: not alive. World::move_node() calls it.
  void move(std::string endpoint, std::vector<Bytes> segments);

  Node* machine() { return machine_.get(); }  // null: dead
  // Carries out what a call of the machine asked for.
  NodeEffects& effects() { return effects_; }
  void carry_out();
  ConnectionId new_connection() { return {next_connection_++}; }
  void add(std::shared_ptr<Exchange> exchange) { exchanges_.push_back(std::move(exchange)); }
  void remove(const Exchange& exchange);

  // Null: not of this incarnation, or without content.
  TrackedMemory* memory(SegmentId segment);
  bool has_segment(SegmentId segment) const { return memories_.contains(segment); }
  // In the order of their ids.
  template <class Visit>
  void for_each_memory(Visit&& visit) const {
    for (const auto& [id, memory] : memories_) {
      if (memory) visit(id, *memory);
    }
  }

  // From the master, over `connection`.
  void send_command(const std::shared_ptr<Connection>& connection, const Command& command);

 private:
  void write_footer(ReplicaLocation at, const FooterBytes& footer) override;
  void pace_changed() override;
  void connect();
  void disconnect();
  void connection_lost();
  void send(const NodeEffects::Send& send);
  void send_again(const std::shared_ptr<const OwnedRequest>& request);
  void verify(const NodeEffects::Verify& verify);
  void arm_tick();

  Network& network_;
  MasterProcess* master_;
  NodeSettings settings_;
  Duration echo_{0};
  Random random_;

  std::unique_ptr<Node> machine_;
  NodeEffects effects_;
  std::map<SegmentId, std::unique_ptr<TrackedMemory>> memories_;
  std::shared_ptr<Connection> connection_;  // to the master; null: none
  std::vector<std::shared_ptr<Exchange>> exchanges_;
  std::uint64_t next_connection_ = 1;
  HostAlarm tick_;
  HostAlarm reconnect_;
};

}  // namespace larder::sim
