#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "core/topology/topology.h"
#include "core/transfer/stripes.h"
#include "sim/fabric/max_min.h"
#include "sim/kernel/event.h"
#include "sim/kernel/kernel.h"

namespace larder::sim {

class Move;
class Work;

// Threads of one process, on a host whose cores are known. Numbered from 0 in the order in which a
// fabric was told of them.
struct ThreadsId {
  std::uint32_t value = 0;
};

// A cluster's hardware in virtual time: moves of bytes between memories, as flows over every edge
// of their paths. Which NICs a move takes, and in which stripes, is decided by the production code
// (core/transfer), whose loads the fabric keeps.
//
// What a stripe costs, one after the other: `posting` by the CPU that starts the move, which posts
// one after the other; its turn at both NICs, which let through so many messages a second; the
// latency of its path; its bytes at the rate that max-min fairness gives them; `completion`.
// Inside a host there are no NICs and no messages. Over TCP a stripe is one stream, which moves no
// faster than one thread copies.
//
// Where the cores of a host are known, they are an edge like any other, on which a core is worth
// what one thread copies: all streams that end or begin in its processes, and the processes' other
// work, share it, and so they share the threads of each process.
//
// For capacity runs: nothing is copied. Confined to its kernel's thread; the same calls give the
// same world.
class Fabric {
 public:
  struct Counters {
    std::uint64_t moves = 0;
    std::uint64_t stripes = 0;
    std::uint64_t rate_changes = 0;
    Bytes moved;  // of stripes that have ended, or as far as they came
  };

  // `topology` outlives the fabric.
  Fabric(Kernel& kernel, const Topology& topology, const StripeRules& rules);
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;
  // Precondition: no move is left.
  ~Fabric();

  const Topology& topology() const { return topology_; }
  // From now on the edge carries this part of what it is made for. Precondition: 0 < share <= 1.
  void degrade(EdgeId edge, double share);
  // What the edge carries now, in bytes a second.
  double carried(EdgeId edge) const { return rates_.carried(edge); }
  // And what it has carried so far, of stripes that have ended.
  Bytes moved_over(EdgeId edge) const { return {moved_over_[edge.value]}; }

  // A NIC that is down carries nothing: what is on its way over it starts again, with the bytes
  // that are left, over the others of its host. Precondition: a move between two hosts, under way
  // or started, has a NIC that is up on both sides.
  void set_nic(PartId nic, bool up);
  std::uint32_t nics_up(std::uint32_t host) const { return nics_up_[host]; }
  // Whether a memory's host has one.
  bool connected(PartId memory) const { return nics_up_[topology_.host_of(memory)] > 0; }

  // Preconditions: the host's cores are known; there is at least one thread.
  ThreadsId add_threads(std::uint32_t host, std::uint32_t threads);

  const Counters& counters() const { return counters_; }

 private:
  friend class Move;
  friend class Work;

  // One stripe on its way, or one piece of work. They are used again, never freed.
  class Leg final : public Event {
   public:
    explicit Leg(Fabric& fabric);
    void set_rate(double per_second);

    enum class Stage : std::uint8_t { free, travelling, moving, completing };
    Fabric& fabric;
    std::uint32_t number = 0;
    Stage stage = Stage::free;
    Move* move = nullptr;
    Work* work = nullptr;  // instead
    Stripe stripe;
    std::vector<EdgeId> path;
    double left = 0;  // bytes, at `since`
    double per_second = 0;
    Instant since{};

   private:
    void fire() override;
  };

  Leg& take_leg();
  void start(Move& move);
  void plan(Move& move, Bytes length, std::vector<Stripe>& stripes);
  std::span<const NearNic> near_nics(PartId place, std::vector<NearNic>& up) const;
  void start_leg(Move& move, const Stripe& stripe, Instant posted);
  Instant pass(PartId nic, Instant at);
  void begin_moving(Leg& leg);
  void end_moving(Leg& leg);
  void count(const Leg& leg, Bytes bytes);
  void release(Leg& leg) noexcept;
  void append_threads(ThreadsId threads, std::vector<EdgeId>& path) const;
  void start(Work& work, Duration time);
  void end_work(Leg& leg) noexcept;
  void apply_rates();

  Kernel& kernel_;
  const Topology& topology_;
  StripeRules rules_;
  MaxMin rates_;
  std::vector<NicLoads> loads_;  // by host
  // By part: when a NIC lets the next message through. In picoseconds, since one takes only a few
  // nanoseconds.
  std::vector<std::int64_t> free_at_;
  std::vector<std::uint64_t> messages_per_second_;  // by part: NICs
  std::vector<bool> down_;                          // by part: NICs
  std::vector<std::uint32_t> nics_up_;              // by host
  std::vector<std::uint64_t> moved_over_;           // by edge
  std::vector<std::optional<EdgeId>> cores_;        // by host, from its first process on
  struct Threads {
    std::uint32_t host;
    EdgeId edge;
  };
  std::vector<Threads> threads_;
  std::vector<NearNic> local_up_;  // while a move is planned
  std::vector<NearNic> remote_up_;
  std::deque<Leg> legs_;
  std::vector<std::uint32_t> free_legs_;
  std::vector<MaxMin::Change> changed_;
  std::vector<Stripe> stripes_;  // of the move that starts
  Counters counters_;
};

// Bytes that move from one memory to another. Destroying a move ends it.
class Move {
 public:
  enum class Transport : std::uint8_t { verbs, tcp };
  struct Plan {
    PartId from;
    PartId to;
    Bytes length;  // above zero
    Transport transport = Transport::verbs;
    // Whose threads copy, where that is known: over TCP, and inside a host.
    std::optional<ThreadsId> sender = {};
    std::optional<ThreadsId> receiver = {};
  };

  Move(Fabric& fabric, const Plan& plan) : fabric_(fabric), plan_(plan) {}
  Move(const Move&) = delete;
  Move& operator=(const Move&) = delete;
  virtual ~Move();

  // Once in a move's life.
  void start() { fabric_.start(*this); }
  const Plan& plan() const { return plan_; }

 private:
  friend class Fabric;

  // The last byte has arrived and the CPU knows. May destroy the move.
  virtual void finish() = 0;

  Fabric& fabric_;
  Plan plan_;
  std::vector<std::uint32_t> legs_;  // on their way
};

// Processor time that one thread of a process needs, for other things than TCP's copies. Alone on
// its host it takes just that long. Destroying it ends it.
class Work {
 public:
  Work(Fabric& fabric, ThreadsId threads) : fabric_(fabric), threads_(threads) {}
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  virtual ~Work() { stop(); }

  // Precondition: it is not under way.
  void start(Duration time) { fabric_.start(*this, time); }
  bool under_way() const { return leg_.has_value(); }
  void stop() noexcept;

 private:
  friend class Fabric;

  // May start it again, or destroy it. Never called from inside of start().
  virtual void finish() = 0;

  Fabric& fabric_;
  ThreadsId threads_;
  std::optional<std::uint32_t> leg_;
};

// How long it takes to register memory with one NIC.
Duration registration_time(const TransferCosts& costs, Bytes length);

}  // namespace larder::sim
