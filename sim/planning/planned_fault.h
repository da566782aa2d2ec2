#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/time.h"
#include "core/topology/topology.h"

namespace larder::sim {

// Something that goes wrong in a run, as people write it:
//
//   node:3@600s+120s          node 3 ends as a process, and comes back empty 120 s later
//   host:3@600s               host 3 goes silently, with its nodes and engines, and stays away
//   nic:host3/nic1@600s+60s   a NIC carries nothing
//   master@600s+10s           the master ends, and another one begins 10 s later
struct PlannedFault {
  enum class Kind : std::uint8_t { node, host, nic, master };
  Kind kind = Kind::node;
  std::uint32_t number = 0;  // of the node or host
  std::string nic;           // by its name in the topology
  Duration at{0};
  Duration lasts = Duration::max();  // for ever
  bool operator==(const PlannedFault&) const = default;
};

// Errors: invalid_params with the text and what is wrong with it.
Result<PlannedFault> parse_fault(std::string_view text);
// What parse_fault reads back to the same.
std::string fault_text(const PlannedFault& fault);

// Any number of them, separated by commas.
Result<std::vector<PlannedFault>> parse_faults(std::string_view text);
std::string faults_text(const std::vector<PlannedFault>& faults);

// The NIC of that name. Errors: invalid_params, where there is none.
Result<PartId> find_nic(const Topology& topology, std::string_view name);

}  // namespace larder::sim
