#include "sim/capacity/pool_faults.h"

#include <algorithm>
#include <string>

namespace larder::sim {
namespace {

constexpr std::uint32_t fault_label = 0x640;

}  // namespace

Status PoolFaults::check(std::span<const PoolFault> faults, const Topology& topology,
                         const CapacityPool& pool) {
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const PoolFault& fault = faults[i];
    const auto wrong = [&](const std::string& what) -> Status {
      return failed(ErrorCode::invalid_params, "fault " + std::to_string(i) + ": " + what);
    };
    if (fault.lasts <= Duration(0)) return wrong("it must last for some time");
    switch (fault.kind) {
      case PoolFault::Kind::node:
      case PoolFault::Kind::host:
        if (fault.node >= pool.nodes()) {
          return wrong("there is no node " + std::to_string(fault.node) + " of " +
                       std::to_string(pool.nodes()));
        }
        break;
      case PoolFault::Kind::nic:
        if (!pool.has_fabric()) return wrong("without a fabric there are no NICs");
        if (fault.nic.value >= topology.parts() || topology.kind(fault.nic) != PartKind::nic) {
          return wrong("part " + std::to_string(fault.nic.value) + " is no NIC");
        }
        break;
      case PoolFault::Kind::master:
        break;
    }
  }
  return {};
}

PoolFaults::PoolFaults(Kernel& kernel, CapacityPool& pool, std::span<const PoolFault> faults)
    : pool_(pool) {
  for (const PoolFault& fault : faults) {
    kernel.arm(turns_.emplace_back(*this, fault, true), fault.at);
    const Instant over = later(fault.at, fault.lasts);
    if (over != instant_never) kernel.arm(turns_.emplace_back(*this, fault, false), over);
  }
}

PoolFaults::Turn::Turn(PoolFaults& faults, const PoolFault& fault, bool begins)
    : Event(fault_label), faults_(faults), fault_(fault), begins_(begins) {}

void PoolFaults::Turn::fire() {
  if (begins_) {
    if (faults_.times(fault_)++ == 0) faults_.begin(fault_);
  } else {
    if (--faults_.times(fault_) == 0) faults_.end(fault_);
  }
}

std::uint32_t& PoolFaults::times(const PoolFault& fault) {
  const bool of_node = fault.kind == PoolFault::Kind::node || fault.kind == PoolFault::Kind::host;
  const PoolFault::Kind kind = of_node ? PoolFault::Kind::node : fault.kind;
  std::uint32_t which = 0;
  if (of_node) which = fault.node;
  if (kind == PoolFault::Kind::nic) which = fault.nic.value;
  const auto found = std::ranges::find_if(
      held_, [&](const Held& held) { return held.kind == kind && held.which == which; });
  if (found != held_.end()) return found->times;
  return held_.emplace_back(Held{.kind = kind, .which = which, .times = 0}).times;
}

void PoolFaults::begin(const PoolFault& fault) {
  switch (fault.kind) {
    case PoolFault::Kind::node:
      return pool_.lose_node(fault.node, false);
    case PoolFault::Kind::host:
      return pool_.lose_node(fault.node, true);
    case PoolFault::Kind::nic:
      return pool_.lose_nic(fault.nic);
    case PoolFault::Kind::master:
      return pool_.lose_master();
  }
}

void PoolFaults::end(const PoolFault& fault) {
  switch (fault.kind) {
    case PoolFault::Kind::node:
    case PoolFault::Kind::host:
      return pool_.return_node(fault.node);
    case PoolFault::Kind::nic:
      return pool_.return_nic(fault.nic);
    case PoolFault::Kind::master:
      return pool_.return_master();
  }
}

}  // namespace larder::sim
