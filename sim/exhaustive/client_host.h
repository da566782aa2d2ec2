#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/client/client.h"
#include "core/protocol/owned_request.h"
#include "sim/cluster/observer.h"
#include "sim/exhaustive/moving.h"
#include "sim/explore/scenario.h"

namespace larder::sim {

class Pool;

// A client of a small world: the core's coroutines over ports of its own, and the operations that
// it does one after the other. A coroutine's frame cannot be looked at, but all that decides what
// stands in it is what its ports have given it so far and when: that list is its identity.
class ClientHost final : private Clock, private Timers, private MasterLink, private Transport {
 public:
  ClientHost(Pool& pool, std::uint32_t index);
  ~ClientHost();

  void start();
  void crash();
  bool alive() const { return machine_ != nullptr; }
  // An operation is under way.
  bool busy() const { return operation_ && !operation_.done(); }
  bool may_begin() const { return alive() && !busy() && next_ < program_.size(); }
  bool finished() const { return !alive() || (!busy() && next_ == program_.size()); }
  void add_operation(const OperationStep& step) { program_.push_back(step); }
  void begin();
  std::uint32_t master() const { return master_; }
  void turn(std::uint32_t master);

  // ---- calls, which are numbered from 1
  struct Request {
    std::shared_ptr<const OwnedRequest> request;
    std::uint32_t copies = 0;  // on their way to the master
    std::uint32_t served = 0;  // how often it has come there
    std::deque<Reply> replies;
  };
  const std::map<std::uint16_t, Request>& requests() const { return requests_; }
  bool waits_for(std::uint16_t call) const { return calls_.contains(call); }
  std::optional<Time> deadline_of(std::uint16_t call) const;
  // Takes one copy that has arrived; the nth.
  std::uint32_t take_request(std::uint16_t call, bool leave_it);
  void add_reply(std::uint16_t call, Reply reply);
  void deliver_reply(std::uint16_t call);
  void call_late(std::uint16_t call);
  // What was under way is lost, or its master is gone: it asks again what it still waits for.
  void ask_again(std::uint16_t call);
  void ask_all_again();

  // ---- transfers, numbered likewise
  const std::map<std::uint16_t, std::shared_ptr<Moving>>& transfers() const { return transfers_; }
  void deliver_answer(std::uint16_t number);
  void notice_broken(std::uint16_t number);
  void transfer_late(std::uint16_t number);
  // Those that nobody waits for any more.
  void forget_ended();

  struct Timer {
    Completion* completion = nullptr;
    Time deadline;
  };
  const std::map<std::uint16_t, Timer>& timers() const { return timers_; }
  void fire(std::uint16_t timer);

  void add_identity(Identity& identity) const;

 private:
  class MasterCall;
  // What a port gave.
  struct Given {
    enum class What : std::uint8_t { began, reply, no_reply, timer, moved, not_moved };
    What what = What::began;
    std::uint16_t number = 0;
    Time at;
    std::vector<Answer> answers;
    Epoch epoch;
    std::uint64_t result = 0;  // of a transfer: its error's code, or a digest of what was read
    std::optional<FooterBytes> footer;
  };

  Time now() const override;
  void arm(Time deadline, Completion& completion) override;
  void disarm(Completion& completion) noexcept override;
  Task<Result<Reply>> call(const larder::Request& request, Time deadline) override;
  TransportTraits traits() const override;
  void submit(Transfer transfer, Time deadline, Completion& completion) override;
  void abandon(Completion& completion, std::shared_ptr<void> keep_alive) noexcept override;

  Given& note(Given::What what, std::uint16_t number);
  void end_call(std::uint16_t call, Result<Reply> result);
  void read_footer(Moving& moving, Given& given);
  void finish(Moving& moving, Status status);
  Task<Done> run(const OperationStep& step, OperationId id);
  Task<Done> run_put(const OperationStep& step, OperationId id, Time deadline);
  Task<Done> run_get(const OperationStep& step, OperationId id, Time deadline);
  void tell(std::string what) const;
  void tell_of(OperationId id, const std::string& what) const;
  std::string name() const { return "client" + std::to_string(index_); }

  Pool& pool_;
  const std::uint32_t index_;
  std::uint32_t master_ = 0;
  std::vector<OperationStep> program_;
  std::size_t next_ = 0;
  std::unique_ptr<Client> machine_;
  Task<Done> operation_;
  OperationId operation_id_;

  std::uint16_t last_call_ = 0;
  std::uint16_t last_timer_ = 0;
  std::uint16_t last_transfer_ = 0;
  std::map<std::uint16_t, MasterCall*> calls_;  // that are waited for
  std::map<std::uint16_t, Request> requests_;
  std::map<std::uint16_t, Timer> timers_;
  std::map<std::uint16_t, std::shared_ptr<Moving>> transfers_;
  std::vector<Given> given_;
};

}  // namespace larder::sim
