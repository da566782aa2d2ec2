#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/node/node.h"
#include "core/protocol/answer.h"
#include "core/protocol/owned_request.h"
#include "sim/fabric/content.h"

namespace larder::sim {

class Pool;
struct Moving;

// A node of a small world: the core's machine, the memory of its one segment, and its connection to
// its master, which keeps each direction in order.
class NodeHost final : private SegmentMemory {
 public:
  NodeHost(Pool& pool, std::uint32_t index, Bytes segment);

  void start();
  void crash();
  bool alive() const { return machine_ != nullptr; }
  const Node* machine() const { return machine_.get(); }
  std::uint64_t life() const { return life_; }
  const std::string& name() const { return name_; }
  SegmentId segment() const { return {.high = 0x5e000000u + index_, .low = life_}; }
  IncarnationId incarnation() const { return {.high = index_ + 1u, .low = life_}; }
  TrackedMemory& memory() { return *memory_; }
  const TrackedMemory& memory() const { return *memory_; }

  // ---- its connection
  std::uint32_t master() const { return master_; }
  void turn(std::uint32_t master);
  bool connected() const { return connected_; }
  void connect();
  // The master's end is gone.
  void break_connection();
  bool has_up() const { return connected_ && !up_.empty(); }
  bool has_down() const { return alive() && connected_ && !down_.empty(); }
  void deliver_up();
  void deliver_down();
  void answer(std::uint64_t ticket, Answer answer);
  // False if it is not for a node that has registered on this connection.
  bool command(const Command& command);

  // ---- transfers
  void reach(Moving& moving);
  void chunk(Moving& moving, std::uint32_t number);
  void end(Moving& moving);
  void give_up(Moving& moving);
  void notice_left(Moving& moving);

  void tick();
  bool verifies() const { return alive() && !verifies_.empty(); }
  void verify();

  void check() const;
  // Why it is not at rest, or not as the master's books say; empty: it is.
  std::string unrest(const StatusReport& books) const;
  void add_identity(Identity& identity) const;

 private:
  struct Answered {
    std::uint64_t ticket = 0;
    Answer answer;
  };
  struct Sent {
    std::uint64_t ticket = 0;
    std::shared_ptr<const OwnedRequest> request;
  };
  void write_footer(ReplicaLocation at, const FooterBytes& footer) override;
  void carry_out();
  void close(Moving& moving);
  void add_memory(Identity& identity) const;

  Pool& pool_;
  const std::uint32_t index_;
  const std::string name_;
  const Bytes size_;
  std::uint64_t life_ = 0;
  std::unique_ptr<Node> machine_;
  std::unique_ptr<TrackedMemory> memory_;
  NodeEffects effects_;
  std::deque<NodeEffects::Verify> verifies_;

  std::uint32_t master_ = 0;
  bool connected_ = false;
  std::uint64_t registration_ = 0;  // that the master was shown on this connection; 0: none
  std::deque<Sent> up_;
  std::deque<std::variant<Answered, Command>> down_;
};

}  // namespace larder::sim
