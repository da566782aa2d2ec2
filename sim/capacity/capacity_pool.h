#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/error.h"
#include "sim/capacity/client_session.h"
#include "sim/capacity/master_server.h"
#include "sim/capacity/page_book.h"
#include "sim/capacity/pool_config.h"
#include "sim/capacity/pool_counts.h"
#include "sim/capacity/pool_node.h"
#include "sim/capacity/transfer.h"
#include "sim/fabric/fabric.h"
#include "sim/serving/page_pool.h"

namespace larder::sim {

// The pool of a simulated cluster. The production master decides everything: it is asked what a
// client would ask, in calls as a client would make them (one Exists for the pages of a lookup; one
// GetReplicaList for those of a read; one PutStart and one PutEnd for those of a put), and what it
// answers is what happens. Nodes are as PoolNode says; the bytes are moves over the fabric, one for
// each node and batch.
//
// Rules:
// - A page is there if all of its objects are. They are one group where there are several; its
//   parent is the page before it.
// - look_up() does not count as a use for the policy, but protects what it finds for a short time,
//   as Exists does. read() counts, and holds its leases until it ends.
// - read() fetches the leading pages that are there. The first page that is missing ends it.
// - Without a fabric transfers take no time; what the master takes stays.
// - The pages of one call of read() or put() are different ones.
//
// It keeps itself alive with events as long as it is there (heartbeats and the like), so a kernel
// that has one never runs out of them. Memory: what the master takes for each object that is there,
// what PageBook takes for each distinct page, and what the calls under way need; a call that has
// ended leaves its memory to the next one.
class CapacityPool final : public PagePool,
                           private MasterServer::Watcher,
                           private PoolNode::Library {
 public:
  // Each page that is missing, and why, when it is found out.
  class MissWatcher {
   public:
    virtual void missed(Instant at, PageNumber page, MissReason reason) = 0;

   protected:
    ~MissWatcher() = default;
  };

  // What engines ask the pool for and put into it, when the call begins, in the order of the calls.
  class CallWatcher {
   public:
    // What it returns is given back with the answer, if the caller still waits for that.
    virtual bool asked(std::span<const PageNumber> pages) = 0;
    virtual void answered(bool asked, std::size_t leading) = 0;
    virtual void put(std::span<const PageNumber> pages) = 0;

   protected:
    ~CallWatcher() = default;
  };

  // `topology` and `fabric` outlive it; without a fabric (nullptr) transfers take no time.
  // Errors: of PoolConfig::check; invalid_params where the master refuses a node.
  static Result<std::unique_ptr<CapacityPool>> make(Kernel& kernel, const Topology& topology,
                                                    Fabric* fabric, const PoolConfig& config);
  ~CapacityPool() override;

  void look_up(PartId host_memory, std::span<const PoolPage> pages, Lookup& lookup) override;
  void read(PartId into, std::span<const PoolPage> pages, Read& read) override;
  void put(PartId from, std::span<const PoolPage> pages, Put& put) override;
  // As its book has it: what is on a hidden node counts as there until that is given up.
  std::optional<MissReason> why_missing(const PoolPage& page) const override;
  void give_up(Lookup& lookup) override;
  void give_up(Read& read) override;
  void give_up(Put& put) override;

  // ---- what can go wrong, and come back (pool_faults.h does it by a plan) ----------------------
  // The node's process ends, and what it held is gone. `silent`: with its host, so that nobody is
  // told; else its connections break. Precondition: it is there.
  void lose_node(std::uint32_t node, bool silent);
  // As a new process, empty. Precondition: it is not there.
  void return_node(std::uint32_t node);
  // A NIC carries nothing. What is on it goes over the others of its host; a host without any is
  // cut off. Preconditions: as for nodes; and there is a fabric.
  void lose_nic(PartId nic);
  void return_nic(PartId nic);
  // The master's process ends. A new one starts from the state directory, and hears from the nodes
  // what they hold. Calls wait for it as long as a call may take.
  void lose_master();
  void return_master();

  // ---- to look at ------------------------------------------------------------------------------
  PoolGauges gauges() const;  // O(nodes)
  const PageCounts& lookups() const { return lookups_; }
  const PageCounts& reads() const { return reads_; }
  const PutCounts& puts() const { return puts_; }
  std::uint32_t nodes() const { return static_cast<std::uint32_t>(nodes_.size()); }
  bool has_fabric() const { return fabric_ != nullptr; }
  const PageBook& book() const override { return book_; }
  const PoolConfig& config() const { return config_; }
  const MasterServer& master() const { return server_; }
  // Told from now on, from inside of what finds it out: it must call nothing here.
  void watch_misses(MissWatcher* watcher) { watcher_ = watcher; }
  void watch_calls(CallWatcher* watcher) { call_watcher_ = watcher; }

 private:
  class Asking;
  class Reading;
  class Putting;
  // Operations of one kind: those under way, and those that wait to be used again.
  template <class Operation>
  struct Shelf {
    std::vector<std::unique_ptr<Operation>> all;
    std::vector<Operation*> free;
  };

  CapacityPool(Kernel& kernel, const Topology& topology, Fabric* fabric, const PoolConfig& config);
  template <class Operation>
  Operation& take(Shelf<Operation>& shelf);
  template <class Operation, class Client>
  static Operation* find(Shelf<Operation>& shelf, const Client& client);

  const std::vector<Bytes>& object_sizes() const override { return config_.objects; }
  std::vector<HeldExtent> held_on(SegmentId segment) const override;
  template <class Visit>
  void for_each_extent(Visit&& visit) const;
  void object_left(const ObjectEvent& event) override;
  void command(Command& command) override;
  void master_back() override;

  ClientSession& session(PartId memory);
  PoolNode* node_of(SegmentId segment);
  PoolNode* node_of(IncarnationId incarnation);
  Transfer& take_transfer();
  void release(Transfer& transfer);
  template <class Condition>
  void break_off(Duration notice, Condition&& condition);
  // Why a page is missing that the master says is not there, or of which it said nothing in time.
  enum class Told : std::uint8_t { not_there, nothing };
  MissReason reason(PageNumber page, Told told) const;
  bool all_reachable() const;
  bool connected(PartId memory) const;
  // Whether some node has room for this, but not in one piece.
  bool fragmented(Bytes size);
  void miss(PageCounts& counts, PageNumber page, MissReason reason);

  Kernel& kernel_;
  const Topology& topology_;
  Fabric* const fabric_;
  const PoolConfig config_;
  PageBook book_;
  MasterServer server_;
  std::vector<std::unique_ptr<PoolNode>> nodes_;
  std::vector<std::unique_ptr<ClientSession>> sessions_;  // by host; null: none
  std::vector<std::unique_ptr<Transfer>> transfers_;
  std::vector<Transfer*> free_transfers_;
  Shelf<Asking> asking_;
  Shelf<Reading> reading_;
  Shelf<Putting> putting_;
  PageCounts lookups_;
  PageCounts reads_;
  PutCounts puts_;
  const Bytes page_bytes_;
  Bytes bytes_read_;
  Bytes bytes_put_;
  struct Room {
    Instant at{};
    Bytes in_one_piece;
    Bytes on_one_node;
  };
  std::optional<Room> room_;  // as it was when it was last looked at
  std::uint64_t evicted_objects_ = 0;
  Bytes evicted_bytes_;
  MissWatcher* watcher_ = nullptr;
  CallWatcher* call_watcher_ = nullptr;
};

}  // namespace larder::sim
