#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/capacity/master_server.h"

namespace larder::sim {

// The session of one engine's host with the master: it numbers the calls, gives leases back with
// the next one, and says that it is there when there is nothing else to say.
class ClientSession {
 public:
  ClientSession(Kernel& kernel, MasterServer& server, const PoolCosts& costs, std::uint32_t host,
                std::string host_name);
  ClientSession(const ClientSession&) = delete;
  ClientSession& operator=(const ClientSession&) = delete;

  std::uint32_t host() const { return host_; }
  // Of its process, where that shares the cores of its host with others.
  std::optional<ThreadsId> threads() const { return threads_; }
  void set_threads(Fabric& fabric, ThreadsId threads);
  // Makes the session with a master that does not know it. At once.
  void open();
  void send(MasterCall& call);
  // A call has ended, or failed.
  void ended(const MasterCall& call);
  void give_back(const LeaseReturn& lease) { leases_.push_back(lease); }
  // Of all transfers from and to the host.
  Bytes bytes_under_way;

 private:
  class Call final : public MasterCall {
   public:
    Call(MasterServer& server, ClientSession& session) : MasterCall(server), session_(session) {}

   private:
    void answered(std::uint32_t, const Answer&) override {}
    void ended() override { session_.ended(*this); }
    void failed() override { session_.ended(*this); }
    ClientSession& session_;
  };
  class Alarm final : public Event {
   public:
    explicit Alarm(ClientSession& session);

   private:
    void fire() override { session_.keep_alive(); }
    ClientSession& session_;
  };
  void keep_alive();

  Kernel& kernel_;
  MasterServer& server_;
  const PoolCosts costs_;
  const std::uint32_t host_;
  const std::string host_name_;
  const Duration period_;
  std::uint64_t number_ = 0;
  std::vector<std::uint64_t> unanswered_;  // ascending
  std::vector<LeaseReturn> leases_;
  Instant last_sent_{};
  Fabric* fabric_ = nullptr;
  std::optional<ThreadsId> threads_;
  Call opening_;
  Call keeping_;
  Alarm alarm_;
};

}  // namespace larder::sim
