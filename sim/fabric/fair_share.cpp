#include "sim/fabric/fair_share.h"

#include <algorithm>

#include "core/base/assert.h"

namespace larder::sim {

void FairShare::add_host(const HostSpec& spec) {
  for (const Bytes speed : {spec.nic_per_second, spec.nic_per_second, spec.memory_per_second}) {
    LARDER_ASSERT(speed > 0_B);
    resources_.push_back({.per_second = speed.value, .full_per_second = speed.value});
  }
}

void FairShare::start(std::uint32_t flow, Route route, std::vector<FlowRate>& changed) {
  if (flow >= flows_.size()) flows_.resize(flow + 1);
  const bool local = route.from == route.to;
  FlowState& state = flows_[flow];
  state = {
      .resources = {3 * route.from.value + (local ? 2 : 0), 3 * route.to.value + (local ? 2 : 1)}};
  resources_[state.resources[0]].flows.push_back(flow);
  if (!local) resources_[state.resources[1]].flows.push_back(flow);
  resolve(state.resources[0], changed);
  if (!local) resolve(state.resources[1], changed);
}

void FairShare::end(std::uint32_t flow, std::vector<FlowRate>& changed) {
  const auto [first, second] = flows_[flow].resources;
  leave(flow, first);
  if (second != first) leave(flow, second);
  resolve(first, changed);
  if (second != first) resolve(second, changed);
}

void FairShare::degrade(HostId host, double share, std::vector<FlowRate>& changed) {
  LARDER_ASSERT(share > 0 && share <= 1);
  for (const std::uint32_t index : {3 * host.value, 3 * host.value + 1}) {
    Resource& resource = resources_[index];
    const double speed = static_cast<double>(resource.full_per_second) * share;
    resource.per_second = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(speed));
    resolve(index, changed);
  }
}

void FairShare::leave(std::uint32_t flow, std::uint32_t resource) {
  std::vector<std::uint32_t>& flows = resources_[resource].flows;
  const auto place = std::find(flows.begin(), flows.end(), flow);
  LARDER_ASSERT(place != flows.end());
  flows.erase(place);
}

void FairShare::resolve(std::uint32_t resource, std::vector<FlowRate>& changed) {
  for (const std::uint32_t flow : resources_[resource].flows) {
    FlowState& state = flows_[flow];
    std::uint64_t rate = ~std::uint64_t{0};
    for (const std::uint32_t used : state.resources) {
      rate = std::min(rate, resources_[used].per_second / resources_[used].flows.size());
    }
    rate = std::max<std::uint64_t>(rate, 1);
    if (rate == state.per_second) continue;
    state.per_second = rate;
    changed.push_back({.flow = flow, .per_second = {rate}});
  }
}

}  // namespace larder::sim
