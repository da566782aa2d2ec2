#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/capacity/master_server.h"
#include "sim/capacity/page_book.h"

namespace larder::sim {

// One replica that a node holds, sealed.
struct HeldExtent {
  ExtentName name;
  PageNumber page = 0;
  std::uint8_t object = 0;
  Instant since{};  // its put began
};

// What a master sees of a node: it registers, reports what it holds, sends heartbeats, and confirms
// each retirement. It is not core/node, whose map of extents would be asked twice for each object
// and would always agree: it takes every fill that the master has granted (the two machines' books
// agree, which `larder-sim explore` checks as I4 and I6), seals it when its bytes are there, and
// has nothing to wait for before it confirms, since what is evicted is under no lease, and a read
// that outlives its lease fails whatever the node does. So what it holds is what the master has of
// it in its directory, and is asked of that when it must be reported. Its thread is kept: requests
// wait for each other.
class PoolNode {
 public:
  // Says what a node holds when it reports.
  class Library {
   public:
    virtual const PageBook& book() const = 0;
    virtual const std::vector<Bytes>& object_sizes() const = 0;
    // Everything on the segment that the master knows of; it is alive.
    virtual std::vector<HeldExtent> held_on(SegmentId segment) const = 0;

   protected:
    ~Library() = default;
  };
  struct Place {
    std::uint32_t number = 0;
    PoolNodeShape shape;
    std::uint32_t host = 0;
    std::string host_name;
  };

  PoolNode(Kernel& kernel, MasterServer& server, const Library& library, const PoolConfig& config,
           Place place);
  PoolNode(const PoolNode&) = delete;
  PoolNode& operator=(const PoolNode&) = delete;
  ~PoolNode();

  const Place& place() const { return place_; }
  SegmentId segment() const { return segment_; }
  IncarnationId incarnation() const { return incarnation_; }
  // Its process is there.
  bool alive() const { return alive_; }
  // And can be reached.
  bool reachable() const { return alive_ && connected_; }

  // Registers with an empty report, before the simulation begins. Errors: what the master refuses.
  Status join_now();
  // Its process ends, with all that it held. `silent`: its host is gone too, so that nobody is
  // told.
  void lose(bool silent);
  // A new process, which holds nothing.
  void come_back();
  // Its host has no way to anybody; the process goes on.
  void cut_off();
  void reconnect();
  // The old master is going: what was in its books is kept for the next one.
  void remember(std::vector<HeldExtent> held) { held_ = std::move(held); }
  // A new master is there.
  void meet_master();

  void take(Command& command);
  // The time that its thread takes to come to a request that arrives now and to serve it.
  enum class Kind : std::uint8_t { fill, other };
  Duration serve(std::size_t extents, Kind kind);
  // The work of that alone, and its threads, where it shares the cores of its host with others.
  Duration work(std::size_t extents, Kind kind) const;
  std::optional<ThreadsId> threads() const { return threads_; }
  void set_threads(ThreadsId threads) { threads_ = threads; }

 private:
  class Call;
  class Alarm final : public Event {
   public:
    Alarm(PoolNode& node, std::uint32_t label) : Event(label), node_(node) {}

   private:
    void fire() override { node_.heartbeat(); }
    PoolNode& node_;
  };

  void renew();
  void register_now(Call& call);
  void send_registration();
  void send_report();
  void heartbeat();
  void answered(Call& call);
  Call& confirmation();
  bool current(const Call& call) const;

  Kernel& kernel_;
  MasterServer& server_;
  const Library& library_;
  const PoolCosts costs_;
  const Timing timing_;
  const Place place_;
  const std::string name_;

  std::uint64_t lives_ = 0;
  IncarnationId incarnation_;
  SegmentId segment_;
  std::uint64_t registration_ = 0;
  Epoch taken_epoch_;  // in which its report was last taken
  bool alive_ = false;
  bool connected_ = true;
  bool refused_ = false;  // by the master, when it registered; it waits before it does so again
  Instant free_at_{};     // its thread
  std::optional<ThreadsId> threads_;

  std::vector<HeldExtent> held_;  // while it is being reported
  std::size_t reported_ = 0;
  std::string texts_;
  std::unique_ptr<Call> registering_;
  std::unique_ptr<Call> reporting_;
  std::unique_ptr<Call> heartbeat_call_;
  std::deque<std::unique_ptr<Call>> confirmations_;  // used again
  Alarm heartbeat_;
};

}  // namespace larder::sim
