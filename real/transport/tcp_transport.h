#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "core/ports/transport.h"
#include "real/rpc/loop.h"
#include "real/transport/tcp_options.h"

namespace larder::real {

struct TcpTransportConfig {
  std::string who;  // for the nodes' logs
  TcpOptions tcp = {};
  std::size_t connections_per_endpoint = 8;  // at work at once; what else there is waits for one
  // A transfer of many ranges is divided over so many of them, if each then has so many bytes.
  std::size_t connections_per_transfer = 4;
  Bytes bytes_per_connection_min = 2_MiB;
  Bytes bytes_in_flight_max = 1_GiB;  // of all transfers; one alone may be larger
};

// Moves bytes between the caller's slices and other processes over TCP, without a copy of its own.
// Each transfer has its connections for itself as long as it lasts; one goes back to the pool only
// when nothing is on its way on it, and is closed otherwise. So a transfer that has ended, in
// whatever way, touches no memory any more.
//
// Overall errors: transfer_fail, with the node's endpoint (not reached, broke off, deadline, or it
// sent nonsense); invalid_version; invalid_params. Confined to its loop.
class TcpTransport final : public Transport {
 public:
  TcpTransport(Loop& loop, TcpTransportConfig config);
  ~TcpTransport();  // precondition: nothing in flight

  TransportTraits traits() const override { return {.name = "tcp"}; }
  void submit(Transfer transfer, Time deadline, Completion& completion) override;
  void abandon(Completion& completion, std::shared_ptr<void> keep_alive) noexcept override;

  std::size_t idle_connections() const;

 private:
  struct State;
  class Operation;
  std::unique_ptr<State> state_;
};

}  // namespace larder::real
