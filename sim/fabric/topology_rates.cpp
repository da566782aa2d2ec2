#include "sim/fabric/topology_rates.h"

#include <algorithm>

#include "core/base/assert.h"

namespace larder::sim {
namespace {

constexpr Bytes one_flow{1};  // as which it counts among the loads

}  // namespace

TopologyRates::TopologyRates(const Topology& topology)
    : topology_(topology), rates_(topology.rates()), loads_(topology.hosts()) {}

void TopologyRates::add_host(const HostSpec&) {
  LARDER_ASSERT(hosts_ < topology_.hosts(), "the topology has fewer hosts than the network");
  ++hosts_;
}

void TopologyRates::start(std::uint32_t flow, Route route, std::vector<FlowRate>& changed) {
  if (flow >= ways_.size()) ways_.resize(flow + 1);
  const auto [from, to] = route;
  path_.clear();
  stripes_.clear();
  Bytes limit = MaxMin::no_limit;
  if (from == to) {
    // A copy reads the DRAM and writes it.
    const PartId socket = topology_.parts_of(from.value, PartKind::socket).front();
    topology_.append_inside(memory_of(from), socket, path_);
    topology_.append_inside(socket, memory_of(from), path_);
    limit = topology_.hardware_of(from.value).costs.tcp_per_second;
    stripes_.push_back({});
  } else {
    plan_stripes(one_flow, {topology_.nics_near(memory_of(from)), loads_[from.value]},
                 {topology_.nics_near(memory_of(to)), loads_[to.value]}, {}, stripes_);
    const PartId out = topology_.nic(from.value, stripes_[0].local_nic);
    const PartId in = topology_.nic(to.value, stripes_[0].remote_nic);
    topology_.append_inside(memory_of(from), out, path_);
    topology_.append_wire(out, in, started_++, path_);
    topology_.append_inside(in, memory_of(to), path_);
  }
  ways_[flow] = {.route = route, .stripe = stripes_[0]};
  rates_.start(flow, path_, limit, changed_);
  translate(changed);
}

void TopologyRates::end(std::uint32_t flow, std::vector<FlowRate>& changed) {
  const auto& [route, stripe] = ways_[flow];
  if (route.from != route.to) {
    loads_[route.from.value].remove(stripe.local_nic, one_flow);
    loads_[route.to.value].remove(stripe.remote_nic, one_flow);
  }
  rates_.end(flow, changed_);
  translate(changed);
}

void TopologyRates::degrade(HostId host, double share, std::vector<FlowRate>& changed) {
  LARDER_ASSERT(share > 0 && share <= 1);
  for (const PartId nic : topology_.parts_of(host.value, PartKind::nic)) {
    path_.clear();
    topology_.append_wire(nic, nic, 0, path_);  // to its leaf and back
    for (const EdgeId edge : path_) {
      const double rate = static_cast<double>(topology_.per_second(edge).value) * share;
      rates_.set_capacity(edge, {std::max<std::uint64_t>(1, static_cast<std::uint64_t>(rate))},
                          changed_);
    }
  }
  translate(changed);
}

PartId TopologyRates::memory_of(HostId host) const {
  return topology_.parts_of(host.value, PartKind::dram).front();
}

void TopologyRates::translate(std::vector<FlowRate>& changed) {
  for (const auto& [flow, per_second] : changed_) {
    changed.push_back(
        {.flow = flow,
         .per_second = {std::max<std::uint64_t>(1, static_cast<std::uint64_t>(per_second))}});
  }
  changed_.clear();
}

}  // namespace larder::sim
