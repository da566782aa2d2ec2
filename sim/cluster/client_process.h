#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/random.h"
#include "core/client/client.h"
#include "sim/cluster/buffers.h"
#include "sim/cluster/exchange.h"
#include "sim/cluster/observer.h"
#include "sim/cluster/process.h"

namespace larder::sim {

class MasterProcess;
class NodeProcess;

struct ClientSettings {
  ClientConfig config;  // session and seed are drawn at each start
  TransportSettings transport;
  Duration resend{250'000'000};  // a request that has no answer; doubled each time
  Duration resend_max{1'000'000'000};
};

// What a client process shares with the world that it is in.
struct ClientSurroundings {
  Network& network;
  const std::map<std::string, NodeProcess*, std::less<>>& nodes;  // by endpoint
  Observer& observer;
  std::uint64_t& last_operation;
  std::uint64_t& last_write;
};

// A client: the core's client, its four ports, and the application that calls it. Its requests to
// the master are sent anew until there is an answer, so they may arrive late, twice and in any
// order. A crash destroys its coroutines where they stand.
class ClientProcess final : public Process, private Timers, private MasterLink, private Transport {
 public:
  ClientProcess(Kernel& kernel, Host& host, MasterProcess& master, const ClientSettings& settings,
                const ClientSurroundings& surroundings, Random random);
  ~ClientProcess() override;

  void start() override;
  void crash() override;
  // It asks this master from now on, also again what it waits for.
  void obey(MasterProcess& master) { master_ = &master; }

  // The application's calls. Precondition, of all: alive. `time`: the deadline from now; zero: the
  // usual one of such an operation. Their end is told to the observer. A stopped client begins when
  // it goes on.
  // `parts`: into how many parts each value is divided (PutWriter); 1: given whole.
  OperationId put(std::vector<PutWanted> items, bool upsert = false, Duration time = {},
                  std::uint32_t parts = 1);
  OperationId get(std::vector<GetWanted> items, Duration time = {});
  OperationId exists(std::vector<std::string> keys, Duration time = {});
  OperationId remove(std::vector<std::string> keys, bool force = false, Duration time = {});
  // Something of the caller's own, such as a whole trace, which calls machine(). The observer is
  // not told its end.
  OperationId run(Task<Done> task);
  std::size_t operations() const { return operations_.size(); }

  Client* machine() { return machine_.get(); }  // null: dead
  Transport& transport() { return *this; }      // for the tests of its contract
  const std::string& tenant() const { return settings_.config.tenant; }

  // For exchanges and calls that have ended.
  void forget(const Exchange& exchange);
  void pace_changed() override;

 private:
  class MasterCall;

  void arm(Time deadline, Completion& completion) override;
  void disarm(Completion& completion) noexcept override;
  Task<Result<Reply>> call(const Request& request, Time deadline) override;
  TransportTraits traits() const override;
  void submit(Transfer transfer, Time deadline, Completion& completion) override;
  void abandon(Completion& completion, std::shared_ptr<void> keep_alive) noexcept override;

  OperationId begin(OperationId id, Task<Done> task);
  OperationId next_operation() { return {++surroundings_.last_operation}; }
  Time deadline_of(Duration time, Bytes bytes) const;
  void ended(OperationId id);
  Task<Done> run_to_end(OperationId id, Task<Done> task);
  void check_buffers();
  Task<Done> run_put(OperationId id, std::vector<PutWanted> items, bool upsert, std::uint32_t parts,
                     Time deadline);
  Task<std::vector<Result<PutOutcome>>> put_in_parts(std::span<const PutItem> items,
                                                     std::span<const ConstSlice> values,
                                                     bool upsert, std::uint32_t parts,
                                                     Time deadline);
  Task<Done> run_get(OperationId id, std::vector<GetWanted> items, Time deadline);
  Task<Done> run_exists(OperationId id, std::vector<std::string> keys, Time deadline);
  Task<Done> run_remove(OperationId id, std::vector<std::string> keys, bool force, Time deadline);
  void keep_session_alive();
  Task<Done> run_keep_alive();

  const ClientSettings settings_;
  ClientSurroundings surroundings_;
  MasterProcess* master_;
  Random random_;
  BufferPool buffers_;
  std::uint64_t late_writes_told_ = 0;

  std::unique_ptr<Client> machine_;
  boost::unordered_flat_map<Completion*, std::unique_ptr<HostAlarm>> timers_;
  boost::unordered_flat_map<std::uint64_t, MasterCall*> calls_;
  std::uint64_t last_call_ = 0;
  std::vector<std::shared_ptr<Exchange>> exchanges_;
  std::map<OperationId, Task<Done>> operations_;
  Task<Done> keeping_alive_;
  HostAlarm keep_alive_;
};

}  // namespace larder::sim
