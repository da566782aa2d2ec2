#pragma once

#include <cstdint>
#include <vector>

#include "sim/fabric/host.h"

namespace larder::sim {

// Decides how fast the flows of a network move that are under way at the same time. Flows go by
// small numbers, which the network gives and uses again. Every call appends to `changed` each flow
// whose rate is another one now, in an order that depends on the calls alone.
class RateModel {
 public:
  struct FlowRate {
    std::uint32_t flow = 0;
    Bytes per_second;
  };

  virtual ~RateModel() = default;
  // Hosts are added in the order of their ids.
  virtual void add_host(const HostSpec& spec) = 0;
  virtual void start(std::uint32_t flow, Route route, std::vector<FlowRate>& changed) = 0;
  virtual void end(std::uint32_t flow, std::vector<FlowRate>& changed) = 0;
  // The host's NIC works at this part of its speed from now on. Precondition: 0 < share <= 1.
  virtual void degrade(HostId host, double share, std::vector<FlowRate>& changed) = 0;
};

}  // namespace larder::sim
