#include <algorithm>
#include <array>
#include <utility>

#include "core/base/printable.h"
#include "core/topology/hardware.h"
#include "core/topology/link_rates.h"

// docs/simulator.md, "Hardware", says where each of these numbers comes from.

namespace larder {

using namespace literals;

namespace {

constexpr std::uint32_t hosts_of_a_preset = 8;
constexpr std::uint32_t hosts_per_leaf = 32;
constexpr std::uint32_t spines = 4;

constexpr Bytes pcie3_x8 = pcie_rate(80, 8);
constexpr Bytes pcie4_x16 = pcie_rate(160, 16);
constexpr Bytes pcie5_x16 = pcie_rate(320, 16);
constexpr Bytes nvme{6'500'000'000};

constexpr Bytes port(std::uint64_t gigabits) { return port_rate(gigabits * 1'000); }

// Of what the pins could, a stream of copies gets four fifths.
constexpr Bytes sustained(std::uint64_t peak) { return {peak / 5 * 4}; }
constexpr Bytes ddr4_2933 = sustained(23'464'000'000);
constexpr Bytes ddr4_3200 = sustained(25'600'000'000);
constexpr Bytes ddr5_4800 = sustained(38'400'000'000);
constexpr Bytes upi_10 = sustained(20'800'000'000);
constexpr Bytes upi_11 = sustained(22'400'000'000);
constexpr Bytes upi_16 = sustained(32'000'000'000);

constexpr Duration dram_latency{95};
constexpr Duration socket_latency{70};
constexpr Duration root_latency{150};
constexpr Duration switch_latency{115};
constexpr Duration device_latency{150};

struct Processor {
  Bytes channel;
  std::uint32_t channels;
  Bytes upi;
  std::uint32_t upi_links;
  Bytes dram;  // of one socket
};
constexpr Processor cascade_lake{ddr4_2933, 6, upi_10, 2, 192_GiB};
constexpr Processor ice_lake{ddr4_3200, 8, upi_11, 3, 512_GiB};
constexpr Processor sapphire_rapids{ddr5_4800, 8, upi_16, 3, 1_TiB};

struct Nic {
  std::uint64_t gigabits;
  Bytes bus;
  std::uint64_t messages_per_second;
};
constexpr Nic connect_x4_25{25, pcie3_x8, 75'000'000};
constexpr Nic connect_x6_100{100, pcie4_x16, 215'000'000};
constexpr Nic connect_x6_200{200, pcie4_x16, 215'000'000};
constexpr Nic connect_x7_400{400, pcie5_x16, 330'000'000};

// A server of two sockets. Switches, NICs, GPUs and disks are divided evenly over the sockets, and
// GPUs and NICs over the switches of their socket. A NIC that finds no switch has a root port.
struct Server {
  std::string_view name;
  Processor processor;
  Nic nic;
  std::uint32_t nics;
  std::uint32_t gpus = 0;
  Bytes gpu_memory{};
  Bytes gpu_bus{};
  std::uint32_t switches = 0;
  bool nics_on_switches = true;
  std::uint32_t disks = 2;
};
constexpr std::array servers{
    Server{"8xh800-8x200", sapphire_rapids, connect_x6_200, 8, 8, 80_GiB, pcie5_x16, 4, true, 4},
    Server{"8xh800-4x200", sapphire_rapids, connect_x6_200, 4, 8, 80_GiB, pcie5_x16, 4, true, 4},
    Server{"8xa100-2x100", ice_lake, connect_x6_100, 2, 8, 80_GiB, pcie4_x16, 4, false, 4},
    Server{"8xh20-4x200", sapphire_rapids, connect_x6_200, 4, 8, 96_GiB, pcie5_x16, 4, true, 4},
    Server{"8xh200-8x400", sapphire_rapids, connect_x7_400, 8, 8, 140_GiB, pcie5_x16, 8, true, 4},
    Server{"cpu-1x25", cascade_lake, connect_x4_25, 1},
    Server{"cpu-2x100", ice_lake, connect_x6_100, 2},
};

std::string numbered(std::string_view name, std::uint32_t number) {
  return std::string(name) + std::to_string(number);
}

class Builder {
 public:
  explicit Builder(const Server& server) : server_(server) {
    host_.name = server.name;
    host_.count = hosts_of_a_preset;
  }

  HardwareHost build() {
    sockets();
    switches();
    for (std::uint32_t gpu = 0; gpu < server_.gpus; ++gpu) {
      device({.name = numbered("gpu", gpu), .kind = PartKind::gpu, .capacity = server_.gpu_memory},
             server_.gpu_bus, numbered("switch", gpu * server_.switches / server_.gpus));
    }
    for (std::uint32_t nic = 0; nic < server_.nics; ++nic) this->nic(nic);
    for (std::uint32_t disk = 0; disk < server_.disks; ++disk) {
      device({.name = numbered("disk", disk), .kind = PartKind::disk, .capacity = 4_TiB}, nvme,
             root(disk * 2 / server_.disks, nvme));
    }
    return std::move(host_);
  }

 private:
  void link(std::string above, std::string below, Bytes per_second, Duration latency) {
    host_.links.push_back({.between = {std::move(above), std::move(below)},
                           .per_second = per_second,
                           .latency = latency});
  }

  void device(HardwarePart part, Bytes bus, std::string above) {
    link(std::move(above), part.name, bus, device_latency);
    host_.parts.push_back(std::move(part));
  }

  void sockets() {
    const Processor& processor = server_.processor;
    for (std::uint32_t socket = 0; socket < 2; ++socket) {
      host_.parts.push_back({.name = numbered("socket", socket), .kind = PartKind::socket});
      host_.parts.push_back(
          {.name = numbered("dram", socket), .kind = PartKind::dram, .capacity = processor.dram});
      link(numbered("socket", socket), numbered("dram", socket), processor.channel, dram_latency);
      host_.links.back().count = processor.channels;
      host_.links.back().shared = true;
    }
    link("socket0", "socket1", processor.upi, socket_latency);
    host_.links.back().count = processor.upi_links;
  }

  // A new root port of the socket, as wide as what hangs on it.
  std::string root(std::uint32_t socket, Bytes bus) {
    const std::string name = numbered("root", roots_++);
    host_.parts.push_back({.name = name, .kind = PartKind::root_port});
    link(numbered("socket", socket), name, bus, root_latency);
    return name;
  }

  void switches() {
    for (std::uint32_t each = 0; each < server_.switches; ++each) {
      const std::string above = root(each * 2 / server_.switches, server_.gpu_bus);
      const std::string name = numbered("switch", each);
      host_.parts.push_back({.name = name, .kind = PartKind::pcie_switch});
      link(above, name, server_.gpu_bus, switch_latency);
    }
  }

  void nic(std::uint32_t number) {
    const bool on_switch = server_.nics_on_switches && server_.switches > 0;
    std::string above = on_switch ? numbered("switch", number * server_.switches / server_.nics)
                                  : root(number * 2 / server_.nics, server_.nic.bus);
    device({.name = numbered("nic", number),
            .kind = PartKind::nic,
            .per_second = port(server_.nic.gigabits),
            .messages_per_second = server_.nic.messages_per_second,
            .rail = number},
           server_.nic.bus, std::move(above));
  }

  const Server& server_;
  HardwareHost host_;
  std::uint32_t roots_ = 0;
};

}  // namespace

Result<Hardware> hardware_preset(std::string_view name) {
  const auto* server = std::ranges::find(servers, name, &Server::name);
  if (server == servers.end()) {
    std::string known;
    for (const std::string_view each : hardware_preset_names()) {
      known.append(known.empty() ? "" : ", ").append(each);
    }
    return failed(ErrorCode::invalid_params,
                  in_quotes(name) + " is no preset of hardware: there are " + known);
  }
  Hardware hardware;
  hardware.hosts.push_back(Builder(*server).build());
  // As much goes up from a leaf as its hosts could send.
  hardware.network = {.hosts_per_leaf = hosts_per_leaf,
                      .spines = spines,
                      .uplink_per_second = port(server->nic.gigabits) * hosts_per_leaf / spines};
  return hardware;
}

std::vector<std::string_view> hardware_preset_names() {
  std::vector<std::string_view> names;
  for (const Server& server : servers) names.push_back(server.name);
  return names;
}

}  // namespace larder
