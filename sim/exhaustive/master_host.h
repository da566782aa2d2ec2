#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/master/master.h"
#include "sim/cluster/master_process.h"

namespace larder::sim {

class Pool;

// A master of a small world: the core's machine and who waits for its answers. It serves a request
// in one step, and its state directory survives it.
class MasterHost final : private AnswerSink {
 public:
  MasterHost(Pool& pool, std::uint32_t index, std::shared_ptr<StateDirectory> disk)
      : pool_(pool), index_(index), disk_(std::move(disk)), effects_(*this) {}

  void start();
  void crash();
  bool alive() const { return machine_ != nullptr; }
  const Master* machine() const { return machine_.get(); }
  std::uint64_t life() const { return life_; }
  const std::shared_ptr<StateDirectory>& disk() const { return disk_; }

  // The call of a client, for the nth time.
  struct Asked {
    std::uint32_t client = 0;
    std::uint16_t call = 0;
    std::uint32_t times = 0;
  };
  void serve(const Asked& asked, const Request& request);
  // Of a node, whose answer goes down its connection.
  void serve_node(std::uint32_t node, std::uint64_t ticket, const Request& request);
  void tick();
  // A connection of a node has ended, under this registration.
  struct Gone {
    IncarnationId incarnation;
    std::uint64_t registration = 0;
  };
  void lose_connection(const Gone& gone) { gone_.push_back(gone); }
  bool hears_of_gone() const { return alive() && !gone_.empty(); }
  void notice_gone();

  void add_identity(Identity& identity) const;

 private:
  struct Waiting {
    std::optional<Asked> client;  // else a node:
    std::uint32_t node = 0;
    std::uint64_t node_ticket = 0;
    std::vector<std::optional<Answer>> answers;
    std::size_t missing = 0;
  };
  void answer(Ticket ticket, std::uint32_t index, const Answer& answer) override;
  void apply(Ticket ticket, Waiting waiting, const Request& request);
  void carry_out();

  Pool& pool_;
  const std::uint32_t index_;
  std::shared_ptr<StateDirectory> disk_;
  std::uint64_t life_ = 0;
  std::unique_ptr<Master> machine_;
  MasterEffects effects_;
  std::map<Ticket, Waiting> waiting_;
  std::vector<Ticket> answered_;
  std::deque<Gone> gone_;
};

}  // namespace larder::sim
