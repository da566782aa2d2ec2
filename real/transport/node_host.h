#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/node/node.h"
#include "real/rpc/loop.h"
#include "real/system/mapped_memory.h"

namespace larder::real {

// What a node wants of its connection to the master. Called on the host's loop.
class NodeHostUser {
 public:
  virtual void send(std::uint64_t ticket, const Request& request) = 0;
  virtual void reconnect() = 0;
  virtual void finished() = 0;  // see NodeEffects::finished

 protected:
  ~NodeHostUser() = default;
};

// Who can end a fill or a read that it, or a peer, has under way. Called on the host's loop, to be
// done soon and where it moves its bytes; ids that it does not know are not its own.
class TransferEnder {
 public:
  virtual void end(FillId fill) = 0;
  virtual void end(ReadId read) = 0;

 protected:
  ~TransferEnder() = default;
};

// A process's Node with the memory of its segments. It may be used from any thread, one call at a
// time; it ticks, verifies and talks to its user on its loop. Must outlive everything that uses it,
// and be destroyed when its loop does not run any more (or on its thread).
class NodeHost final : SegmentMemory {
 public:
  NodeHost(Loop& loop, NodeConfig config, IncarnationId incarnation, NodeHostUser& user);
  ~NodeHost();
  NodeHost(const NodeHost&) = delete;
  NodeHost& operator=(const NodeHost&) = delete;

  // Offers `memory`, of the segment's size. Errors: those of Node::add_segment.
  Status add_segment(const NodeSegment& segment, MappedMemory memory);

  // call(Node&, Time now, NodeEffects&), with the node for itself. What it asks for is done after.
  template <class Call>
  auto use(Call call) {
    const std::scoped_lock lock(mutex_);
    const struct CarryOut {
      NodeHost& host;
      ~CarryOut() { host.carry_out(); }
    } after{*this};
    return call(node_, loop_.now(), effects_);
  }

  // The bytes of a segment, valid as long as the host. Null span: none of this host's. Only what
  // lies in a fill or read that is in flight may be touched.
  std::span<std::byte> memory(SegmentId segment);

  ConnectionId new_connection();
  // From any thread. An ender that was removed is not called any more.
  void add_ender(TransferEnder& ender);
  void remove_ender(TransferEnder& ender);
  IncarnationId incarnation() const { return incarnation_; }

 private:
  class Verifier;

  void write_footer(ReplicaLocation at, const FooterBytes& footer) override;
  void carry_out();  // with the lock held
  void tick();
  void verify(NodeEffects::Verify what);
  std::span<std::byte> find_memory(SegmentId segment);

  Loop& loop_;
  NodeHostUser& user_;
  const IncarnationId incarnation_;
  std::mutex mutex_;
  std::map<SegmentId, MappedMemory> mappings_;
  Node node_;
  NodeEffects effects_;
  std::mutex enders_mutex_;
  std::vector<TransferEnder*> enders_;
  std::uint64_t next_connection_ = 1;
  Time ticks_at_ = time_never;
  Alarm ticker_;
  std::shared_ptr<bool> alive_;  // what is posted to the loop looks whether the host still is
};

}  // namespace larder::real
