#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/master/master.h"
#include "core/protocol/owned_request.h"
#include "sim/cluster/process.h"
#include "sim/fabric/connection.h"

namespace larder::sim {

class NodeProcess;

// What survives a master. Two masters that were started on one directory share it.
struct StateDirectory {
  MasterState state;
  Epoch last_epoch;

  void keep(const StateRecord& record);
};

struct MasterSettings {
  MasterConfig config;
  bool durable = true;  // it has a state directory, which survives it
  // It works on its own only inside `quiesce`, and its configuration's seed is taken as it is: so
  // it decides as a real master in lock step does.
  bool lock_step = false;
  // An epoch has no random part.
  bool epochs_of_clock = false;
  // One thread serves the requests, one after another; each takes this.
  Duration service{1'500};
  Duration service_per_item{600};
};

// A master: the core's machine behind a queue, on a thread of its own. Each start is a new instance
// with a higher epoch; only the state directory is left of the one before. A master that is shown a
// higher epoch keeps it there and exits.
class MasterProcess final : public Process, private AnswerSink {
 public:
  using Answerer = std::function<void(const Reply&)>;

  MasterProcess(Kernel& kernel, Host& host, Observer& observer, std::string endpoint,
                const MasterSettings& settings, Random random);

  const std::string& endpoint() const { return endpoint_; }
  void start() override;
  void crash() override;
  // While it is dead, since its host may have been reinstalled.
  void lose_state_directory() { *disk_ = {.state = {.durable = settings_.durable}}; }
  // Before its first start.
  void share_state_directory(MasterProcess& other) { disk_ = other.disk_; }

  // Through enter(). `answer` is called, perhaps much later, with all answers or never.
  void receive(std::shared_ptr<const OwnedRequest> request, Answerer answer);
  // The acceptor's end of a node's connection.
  void accept(std::shared_ptr<Connection> connection, NodeProcess& node);
  void receive_from_node(const std::shared_ptr<Connection>& connection,
                         std::shared_ptr<const OwnedRequest> request, Answerer answer);

  const Master* machine() const { return machine_.get(); }  // null: dead
  std::uint64_t requests_served() const { return served_; }
  std::size_t queue_length() const { return queue_.size(); }

 private:
  struct Queued {
    std::shared_ptr<const OwnedRequest> request;
    Answerer answer;
  };
  struct Waiting {
    std::shared_ptr<const OwnedRequest> request;
    Answerer answer;
    std::vector<std::optional<Answer>> answers;
    std::size_t missing = 0;
  };
  struct NodeLink {
    std::shared_ptr<Connection> connection;
    NodeProcess* node = nullptr;
    IncarnationId incarnation;
    std::uint64_t registration = 0;
  };

  void answer(Ticket ticket, std::uint32_t index, const Answer& answer) override;
  void serve_next();
  void serve();
  void node_gone(const std::shared_ptr<Connection>& connection);
  void carry_out();
  void arm_tick();
  NodeLink* link_of(const std::shared_ptr<Connection>& connection);

  const std::string endpoint_;
  const MasterSettings settings_;
  Random random_;
  std::shared_ptr<StateDirectory> disk_;

  std::unique_ptr<Master> machine_;
  MasterEffects effects_;
  std::deque<Queued> queue_;
  Ticket next_ticket_ = 1;
  boost::unordered_flat_map<Ticket, Waiting> waiting_;
  std::vector<Ticket> answered_;  // all of its answers are there, in the order in which that came
  std::vector<NodeLink> links_;   // in the order in which they were made
  HostAlarm service_;
  HostAlarm tick_;
  std::uint64_t served_ = 0;
};

}  // namespace larder::sim
