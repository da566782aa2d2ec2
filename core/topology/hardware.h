#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/base/time.h"

// What a cluster is made of, as values: kinds of host with their parts and links, how many hosts of
// each kind there are, and the network between them. A hardware file (proto/hardware) has the same
// members under the same names; Topology (topology.h) is the graph that they make.
//
// All rates are of payload, in bytes a second, each way; latencies are one way.

namespace larder {

enum class PartKind : std::uint8_t {
  socket,  // a CPU package, or a NUMA node where a package has several
  dram,    // the memory of one socket
  root_port,
  pcie_switch,
  nic,
  gpu,  // with its memory
  disk,
  leaf,   // a switch that NICs are plugged into
  spine,  // a switch between leaves
};
// As in files: "socket", "root-port" ...
std::string_view part_kind_name(PartKind kind);
// Of the parts of a host; leaves and spines are no such.
std::optional<PartKind> host_part_kind(std::string_view name);

struct HardwarePart {
  std::string name;  // unique in its host
  PartKind kind = PartKind::socket;
  Bytes capacity{};                       // dram, gpu, disk
  Bytes per_second{};                     // nic: of its port
  std::uint64_t messages_per_second = 0;  // nic: what it can send or take, however short
  std::uint32_t rail = 0;                 // nic: which leaf of its group it is plugged into
  bool operator==(const HardwarePart&) const = default;
};

// Joins dram and socket, two sockets, or a step of the PCIe tree (socket, root port, switches,
// then a device).
struct HardwareLink {
  std::array<std::string, 2> between;
  Bytes per_second{};       // of one of `count`
  std::uint32_t count = 1;  // in parallel, over which each transfer is spread: channels of DRAM
  bool shared = false;      // both directions share the rate, as reads and writes of DRAM do
  Duration latency{0};
  bool operator==(const HardwareLink&) const = default;
};

// What transfers cost in time beside their bytes.
struct TransferCosts {
  Duration posting{150};          // the CPU hands one work request to a NIC
  Duration completion{500};       // from the last byte to the CPU that learns of it
  Duration registration{20'000};  // of one region of memory with a NIC
  Duration registration_each_mib{60'000};
  Bytes tcp_per_second{4'000'000'000};  // that one thread copies between memory and sockets
  bool operator==(const TransferCosts&) const = default;
};

struct HardwareHost {
  std::string name;  // of the kind
  std::uint32_t count = 1;
  // Of its processors, which TCP's copies and the pool's own work have to share; 0: not told, and
  // no limit.
  std::uint32_t cores = 0;
  std::vector<HardwarePart> parts;
  std::vector<HardwareLink> links;
  TransferCosts costs;
  // What one such host costs an hour, in whatever money the reader counts; presets have none.
  std::optional<double> price_per_hour;
  bool operator==(const HardwareHost&) const = default;
};

// Hosts stand in groups of `hosts_per_leaf`, in their order. A group has one leaf for each rail of
// its NICs; each leaf has one uplink to each spine.
struct HardwareNetwork {
  std::uint32_t hosts_per_leaf = 32;
  std::uint32_t spines = 0;  // needed where there are several leaves
  Bytes uplink_per_second{};
  Duration nic_to_leaf{540};
  Duration leaf_to_spine{475};
  bool operator==(const HardwareNetwork&) const = default;
};

struct Hardware {
  std::vector<HardwareHost> hosts;
  HardwareNetwork network;
  bool operator==(const Hardware&) const = default;
};

// Whether such a cluster can be: names are there and unique, links join what can be joined, rates
// and capacities are above zero and below what is absurd, as is how many of all there are, PCIe is
// a tree, every part of a host has a path to a NIC, all hosts reach each other. The error is
// bad_file, and begins with the place as a JSON pointer into the file, such as
// "/hosts/0/links/3/between/1: 'gpu9' is no part of this host".
Status check_hardware(const Hardware& hardware);

// Common machines, with 8 hosts of the one kind; docs/simulator.md has the source of each number.
// Errors: invalid_params, which lists those that there are.
Result<Hardware> hardware_preset(std::string_view name);
std::vector<std::string_view> hardware_preset_names();

}  // namespace larder
