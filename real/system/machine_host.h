#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/base/bytes.h"
#include "core/topology/hardware.h"
#include "real/system/nics.h"

namespace larder::real {

struct NumaNode {
  std::uint32_t number = 0;
  Bytes memory;  // 0: it has none, or the kernel does not say
};
// By number. `root` holds sys: "/" for this machine.
std::vector<NumaNode> read_numa_nodes(const std::filesystem::path& root = "/");

// Of a machine, what its kernel does not tell.
struct MachineRates {
  std::uint32_t cores = 1;
  Bytes memory;             // of all nodes together
  Bytes memory_per_second;  // likewise
  Bytes loopback_per_second;
};

// A machine as hardware: a socket with its memory for each NUMA node, and each usable NIC below a
// root port of the node that it is near to (of the first one where the kernel does not say). Ports
// of one card share the rate of its slot. Each memory has an equal part of the memory's rate, and
// sockets are joined at that rate, which is assumed. Without a usable NIC there is one, "nic0",
// that carries what loopback does. check_hardware finds nothing wrong with it.
HardwareHost machine_host(const std::vector<NumaNode>& nodes, const MachineNics& nics,
                          const MachineRates& rates);

}  // namespace larder::real
