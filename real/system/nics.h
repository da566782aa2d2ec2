#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/bytes.h"

namespace larder::real {

// A port of a network card, as the kernel tells of it.
struct MachineNic {
  std::string name;  // of its RDMA device ("mlx5_0", or "mlx4_0.2" of its second port), or else of
                     // its network interface
  std::string address;  // of its PCI function, "0000:3b:00.1"; empty: it has none
  std::optional<std::uint32_t> numa_node;  // nothing: the kernel does not say
  Bytes per_second;                        // of payload, by the rate of its link
  Bytes bus_per_second;  // of what its PCIe slot carries now; 0: the kernel does not say
};

// One that cannot be used, or must not be used beside another one.
struct ExcludedNic {
  std::string name;
  std::string reason;  // a sentence without a full stop, with what to do where there is something
};

struct MachineNics {
  std::vector<MachineNic> usable;  // by PCI address, then by name
  std::vector<ExcludedNic> excluded;
};

// All network cards below /sys: RDMA ports, and the network interfaces that are no RDMA port's.
// What is no card (loopback, bridges, veth ...) is in neither list. A card is usable if its link is
// up and the kernel knows its rate. `root` holds sys: "/" for this machine.
MachineNics read_nics(const std::filesystem::path& root = "/");

}  // namespace larder::real
