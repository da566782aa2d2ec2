#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/exhaustive/action.h"
#include "sim/exhaustive/client_host.h"
#include "sim/exhaustive/master_host.h"
#include "sim/exhaustive/node_host.h"
#include "sim/exhaustive/small_world.h"
#include "sim/explore/history.h"
#include "sim/kernel/kernel.h"

namespace larder::sim {

// A small world as it runs: the core's machines and coroutines, and all that is on its way between
// them as a set from which somebody chooses what comes next. It begins when the nodes are in the
// pool, the clients have their sessions and what the world does at 0s is done. A step is an action;
// the same actions give the same world, to the bit.
//
// Time stands still but for the action `pass`. What is on a connection between a node and its
// master keeps its order; everything else comes in any. The history counts steps as instants.
class Pool {
 public:
  Pool(const SmallWorld& world, const Guards& guards);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // What may happen next, in the order of the actions.
  void actions(std::vector<Action>& into) const;
  // Precondition: it is one of them. What it touched.
  Footprint take(const Action& action);
  // The machines it touched are checked, and the memories; the history hears what is broken.
  void check(const Footprint& touched);
  // What the world is by now, apart from how it came about: equal values can go on likewise.
  std::uint64_t identity() const;
  // Only what the world bounds may still happen.
  bool quiet() const;
  // From a quiet world on, without faults: everything runs on in one order, time included, until it
  // has come to rest; the history hears what does not end or come back (I5, I6).
  void bring_to_rest();

  History& history() { return history_; }
  const History& history() const { return history_; }

  // ---- what happens, for people; nothing is told before tell_from_now_on()
  struct Told {
    std::uint64_t step = 0;  // of those that are told, from 1
    std::string who;
    std::string what;
  };
  void tell_from_now_on() {
    tells_ = true;
    told_from_ = steps_;
  }
  bool tells() const { return tells_; }
  void tell(std::string who, std::string what) {
    told_.push_back({steps_ - told_from_, std::move(who), std::move(what)});
  }
  void tell_answer(const std::string& who, const Answer& answer);
  void tell_command(const std::string& who, const Command& command);
  std::string put_name(PutId id);
  std::string operation_text(const OperationStep& step) const;
  const std::vector<Told>& told() const { return told_; }

  // ---- for the hosts
  Time now() const { return now_; }
  const SmallWorld& world() const { return world_; }
  const Guards& guards() const { return guards_; }
  std::string_view tenant() const { return "default"; }
  MasterConfig master_config() const;
  // Above all that any master has had.
  Epoch next_epoch() { return {++epochs_}; }
  MasterHost& master(std::uint32_t index) { return *masters_[index]; }
  NodeHost& node(std::uint32_t index) { return *nodes_[index]; }
  std::uint32_t node_at(const std::string& endpoint) const;
  Bytes room_for_a_value() const { return world_.scenario.value_max; }
  static Bytes length_of(const ReadRange& range) { return {range.into[0].size()}; }
  void touches_history() { touched_.writes |= Footprint::history; }

  void reply(const MasterHost::Asked& asked, Reply reply);
  void answer_node(std::uint32_t node, std::uint64_t ticket, Answer answer);
  void command(std::uint32_t master, const Command& command);
  void master_is_gone(std::uint32_t master);
  void connection_lost(std::uint32_t master, const MasterHost::Gone& gone);
  void for_each_moving_at(std::uint32_t node, const std::function<void(Moving&)>& visit);

 private:
  void begin();
  void do_before(const OperationStep& step);
  void settle();
  void add_actions_of_client(std::uint32_t index, std::vector<Action>& into) const;
  void add_actions_of_transfer(std::uint32_t client, std::uint16_t number, const Moving& moving,
                               std::vector<Action>& into) const;
  void add_actions_of_node(std::uint32_t index, std::vector<Action>& into) const;
  void add_actions_of_master(std::uint32_t index, std::vector<Action>& into) const;
  Time next_timer() const;
  Footprint footprint_of(const Action& action) const;
  void take_of_client(const Action& action);
  void take_of_transfer(const Action& action);
  void take_of_server(const Action& action);
  void take_bounded(const Action& action);
  void walk(Identity& identity) const;
  std::optional<Violation> unrest() const;

  const SmallWorld& world_;
  const Guards guards_;
  Kernel steps_as_instants_{1};
  History history_;
  Time now_{std::chrono::seconds(1)};
  Allowances left_;
  std::uint64_t epochs_ = 0;
  std::vector<std::unique_ptr<MasterHost>> masters_;
  std::vector<std::unique_ptr<NodeHost>> nodes_;
  std::vector<std::unique_ptr<ClientHost>> clients_;
  Footprint touched_;
  std::uint64_t steps_ = 0;
  std::uint64_t told_from_ = 0;  // what came before is not told
  bool tells_ = false;
  std::vector<Told> told_;
  std::vector<PutId> put_names_;
};

}  // namespace larder::sim
