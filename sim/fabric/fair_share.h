#pragma once

#include <array>

#include "sim/fabric/rate_model.h"

namespace larder::sim {

// Each direction of a NIC is divided evenly among the flows that use it, and a flow moves at the
// smaller of its two shares; what a flow cannot use of a share is not given to others (max-min
// fairness would). Flows inside a host share its memory bandwidth. A start or end costs O(flows of
// the two hosts).
class FairShare final : public RateModel {
 public:
  void add_host(const HostSpec& spec) override;
  void start(std::uint32_t flow, Route route, std::vector<FlowRate>& changed) override;
  void end(std::uint32_t flow, std::vector<FlowRate>& changed) override;
  void degrade(HostId host, double share, std::vector<FlowRate>& changed) override;

 private:
  struct Resource {
    std::uint64_t per_second = 0;
    std::uint64_t full_per_second = 0;
    std::vector<std::uint32_t> flows;
  };
  struct FlowState {
    std::array<std::uint32_t, 2> resources{};  // twice the same inside a host
    std::uint64_t per_second = 0;
  };

  void leave(std::uint32_t flow, std::uint32_t resource);
  void resolve(std::uint32_t resource, std::vector<FlowRate>& changed);

  std::vector<Resource> resources_;  // of host h: 3h out, 3h + 1 in, 3h + 2 memory
  std::vector<FlowState> flows_;
};

}  // namespace larder::sim
