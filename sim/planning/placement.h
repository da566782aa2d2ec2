#pragma once

#include <cstdint>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/topology/topology.h"
#include "sim/planning/setting.h"

namespace larder::sim {

// Where engines and nodes stand:
//
// - Engines take the hosts with GPUs in their order, each the next `gpus_per_engine` GPUs of its
//   host. Without serving, and where there are no GPUs, engine i stands on host i mod hosts.
// - Node i stands on host i mod hosts, hosts without GPUs first where there are such, in its DRAM
//   (i / hosts) mod sockets.
struct Placement {
  struct Engine {
    std::uint32_t host = 0;
    std::vector<PartId> gpus;
    std::vector<PartId> drams;  // all of its host
  };
  struct Node {
    std::uint32_t host = 0;
    PartId memory;
  };
  std::vector<Engine> engines;
  std::vector<Node> nodes;
};

// Errors, invalid_params: more engines than the GPUs are for, or memory that a host does not have:
// what engines' host caches (which lie on all DRAMs of their host evenly) and nodes take together
// is more than a DRAM holds. The message names all that is to lie there.
Result<Placement> place(const Setting& setting, const Topology& topology);

}  // namespace larder::sim
