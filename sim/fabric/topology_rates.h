#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/topology/topology.h"
#include "core/transfer/stripes.h"
#include "sim/fabric/max_min.h"
#include "sim/fabric/rate_model.h"

namespace larder::sim {

// The flows of a Network on the hardware of a topology: host n of the network is host n of the
// topology, and each flow goes from DRAM to DRAM (of the first socket) over a pair of NICs that the
// production code picks. What the network's HostSpecs say of rates is not used.
class TopologyRates final : public RateModel {
 public:
  // `topology` outlives it.
  explicit TopologyRates(const Topology& topology);

  // Precondition: the topology has so many hosts.
  void add_host(const HostSpec& spec) override;
  void start(std::uint32_t flow, Route route, std::vector<FlowRate>& changed) override;
  void end(std::uint32_t flow, std::vector<FlowRate>& changed) override;
  // Of all NICs of the host.
  void degrade(HostId host, double share, std::vector<FlowRate>& changed) override;

 private:
  struct Way {
    Route route;
    Stripe stripe;  // of one byte, for the loads
  };

  PartId memory_of(HostId host) const;
  void translate(std::vector<FlowRate>& changed);

  const Topology& topology_;
  MaxMin rates_;
  std::vector<NicLoads> loads_;  // by host: flows
  std::vector<Way> ways_;        // by flow
  std::uint32_t hosts_ = 0;
  std::uint32_t started_ = 0;
  std::vector<EdgeId> path_;
  std::vector<Stripe> stripes_;
  std::vector<MaxMin::Change> changed_;
};

}  // namespace larder::sim
