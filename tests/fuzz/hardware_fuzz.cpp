#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/assert.h"
#include "core/topology/topology.h"
#include "proto/hardware/hardware_file.h"
#include "tests/fuzzing/checks.h"
#include "tests/fuzzing/json_patch.h"

// Hardware files: the first byte says whether the rest is a file, or changes of a right one. What
// is accepted is written as a file that means the same, and is a cluster in which every memory
// reaches every NIC.

namespace larder {
namespace {

constexpr std::size_t parts_looked_at = 300;

const nlohmann::ordered_json& right_file() {
  static const nlohmann::ordered_json file = nlohmann::ordered_json::parse(R"({
    "hosts": [
      {"name": "small", "count": 3, "cores": 4, "price_per_hour": 2.5,
       "parts": [
         {"name": "socket0", "kind": "socket"}, {"name": "socket1", "kind": "socket"},
         {"name": "dram0", "kind": "dram", "capacity_bytes": 1e12},
         {"name": "root0", "kind": "root-port"}, {"name": "switch0", "kind": "pcie-switch"},
         {"name": "gpu0", "kind": "gpu", "capacity_bytes": 8e10},
         {"name": "disk0", "kind": "disk", "capacity_bytes": 8e10},
         {"name": "nic0", "kind": "nic", "bytes_per_second": 1e10, "messages_per_second": 1e8,
          "rail": 0}],
       "links": [
         {"between": ["socket0", "dram0"], "bytes_per_second": 2e10, "count": 8, "shared": true,
          "latency_ns": 95},
         {"between": ["socket0", "socket1"], "bytes_per_second": 2e10, "latency_ns": 70},
         {"between": ["socket1", "root0"], "bytes_per_second": 3e10, "latency_ns": 150},
         {"between": ["root0", "switch0"], "bytes_per_second": 3e10, "latency_ns": 150},
         {"between": ["switch0", "gpu0"], "bytes_per_second": 3e10, "latency_ns": 150},
         {"between": ["switch0", "disk0"], "bytes_per_second": 3e10, "latency_ns": 150},
         {"between": ["switch0", "nic0"], "bytes_per_second": 3e10, "latency_ns": 150}],
       "costs": {"posting_ns": 150, "tcp_bytes_per_second": 4e9}},
      {"preset": "cpu-1x25", "count": 2, "price_per_hour": 1}],
    "network": {"hosts_per_leaf": 2, "spines": 2, "uplink_bytes_per_second": 1e11,
                "nic_to_leaf_ns": 540, "leaf_to_spine_ns": 475}})");
  return file;
}

void check_topology(const Hardware& hardware) {
  const Topology topology = Topology::make(hardware).value();
  for (const Bytes rate : topology.rates()) LARDER_ASSERT(rate > Bytes{});
  for (std::uint32_t host = 0; host < topology.hosts(); ++host) {
    const std::size_t nics = topology.parts_of(host, PartKind::nic).size();
    LARDER_ASSERT(nics > 0 && !topology.parts_of(host, PartKind::dram).empty());
    for (const PartKind kind : {PartKind::dram, PartKind::gpu, PartKind::disk}) {
      for (const PartId memory : topology.parts_of(host, kind)) {
        const auto near = topology.nics_near(memory);
        LARDER_ASSERT(near.size() == nics, "every NIC is reached");
        std::vector<EdgeId> path;
        for (const NearNic& nic : near) {
          LARDER_ASSERT(nic.per_second > Bytes{});
          topology.append_inside(memory, topology.nic(host, nic.nic), path);
        }
        LARDER_ASSERT(!path.empty() && topology.latency(path) >= Duration(0));
      }
    }
    if (host == 0) continue;
    std::vector<EdgeId> wire;
    topology.append_wire(topology.nic(0, 0), topology.nic(host, 0), host, wire);
    LARDER_ASSERT(wire.size() >= 2 && topology.per_second(wire) > Bytes{});
  }
}

void check(std::string_view text) {
  const auto hardware = read_hardware(text);
  if (!hardware) return check_refusal(hardware.error(), ErrorCode::bad_file);
  std::size_t parts = 0;
  for (const HardwareHost& host : hardware->hosts) {
    check_line(host.name);
    parts += host.count * host.parts.size();
  }
  const std::string written = write_hardware(*hardware);
  const auto again = read_hardware(written);
  LARDER_ASSERT(again.has_value(), "what was accepted is accepted again");
  LARDER_ASSERT(*again == *hardware && write_hardware(*again) == written, "and means the same");
  if (parts <= parts_looked_at) check_topology(*hardware);
}

}  // namespace
}  // namespace larder

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data + 1), size - 1);
  larder::check(data[0] == 'f' ? std::string(rest) : larder::patched(larder::right_file(), rest));
  return 0;
}
