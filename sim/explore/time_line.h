#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "sim/cluster/world.h"
#include "sim/explore/history.h"
#include "sim/explore/scenario.h"

namespace larder::sim {

// One line of what happened, for people.
struct TimeLineEntry {
  Instant when;
  std::string who;
  std::string what;
};
// "   1.002150 s  client0  put key0 100B", one below the other.
std::string to_text(std::span<const TimeLineEntry> entries);

// Tells what happens in a world as people would: who did what and when. Puts are numbered in the
// order in which they are met, and segments go by their nodes. Passes on to the history all that
// it hears of clients.
class TimeLine final : public Observer {
 public:
  explicit TimeLine(History& history) : history_(history) {}
  void watch(World& world) { world_ = &world; }

  void step(const Step& step);
  void step_skipped(const Step& step);
  void fault_over(const Fault& fault);
  // Whose operation it is.
  void begins(OperationId id, const OperationStep& step);
  void say(std::string who, std::string what);
  // What comes from now on is not part of it.
  void stop() { stopped_ = true; }
  std::vector<TimeLineEntry> take() { return std::move(entries_); }

  void put_began(OperationId, std::span<const PutWanted>, WriteId first) override;
  void put_ended(OperationId, std::span<const PutSeen>) override;
  void get_ended(OperationId, std::span<const GetSeen>) override;
  void exists_ended(OperationId, std::span<const std::string_view>,
                    std::span<const Result<Existence>>) override;
  void remove_ended(OperationId, std::span<const std::string_view>,
                    std::span<const Status>) override;
  void operation_lost(OperationId) override;
  void violation(const std::string&) override;

  void master_answered(const MasterProcess&, const Request&, std::uint32_t index,
                       const Answer&) override;
  void master_commanded(const MasterProcess&, const Command&) override;
  void master_stepped(const MasterProcess&) override;
  void master_superseded(const MasterProcess&) override;
  void fill_began(const NodeProcess&, const FillItem&, const Status&) override;
  void fill_ended(const NodeProcess&, const FillItem&, const Status&) override;
  void read_refused(const NodeProcess&, PutId, const Error&) override;
  void node_sent(const NodeProcess&, const Request&) override;
  void read_began(const ClientProcess&, const std::string& endpoint, PutId) override;
  void transfer_failed(const ClientProcess&, const std::string& endpoint, const Error&) override;

 private:
  // What a master's books said when they were last looked at.
  struct Books {
    Epoch epoch;
    std::uint64_t sessions = 0;
    std::uint64_t unfinished = 0;
    std::uint64_t evicted = 0;
    Bytes quarantined;
    std::map<std::string, std::string> nodes;  // their states
  };

  std::string name(const Process& process) const;
  std::string node_at(const std::string& endpoint) const;
  std::string node_of(SegmentId segment);
  std::string put(PutId id);
  std::string places(std::span<const ReplicaLocation> replicas);
  void say_of(OperationId id, const std::string& what);
  template <class Item, class Good>
  void ended(OperationId id, const Item& result, std::string_view verb, std::string_view key,
             Good&& good);

  History& history_;
  World* world_ = nullptr;
  bool stopped_ = false;
  std::vector<TimeLineEntry> entries_;
  std::map<PutId, std::uint64_t> puts_;
  std::map<SegmentId, std::string> segments_;
  std::map<OperationId, std::string> clients_;
  std::set<std::tuple<SessionId, std::uint64_t, std::uint32_t>> answered_;
  std::map<std::string, Books> books_;  // by the master's name
};

}  // namespace larder::sim
