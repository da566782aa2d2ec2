#pragma once

#include <cstdint>
#include <vector>

#include "core/base/random.h"
#include "core/topology/topology.h"

namespace larder::bench {

// Eight engines of eight GPUs and eight pool nodes, and paths as gets take them: from the DRAM of a
// pool node to a GPU, over near NICs.
struct Cluster {
  static constexpr std::uint32_t paths_drawn = 4'096;
  Topology topology = Topology::make(hardware()).value();
  std::vector<std::vector<EdgeId>> paths;

  static Hardware hardware() {
    Hardware hardware = hardware_preset("8xh800-8x200").value();
    hardware.hosts.push_back(hardware.hosts[0]);
    hardware.hosts[1].name = "pool";
    return hardware;
  }
  PartId memory(Random& random) const {
    const auto host = static_cast<std::uint32_t>(8 + random.below(8));
    return topology.parts_of(host, PartKind::dram)[random.below(2)];
  }
  PartId gpu(Random& random) const {
    return topology.parts_of(static_cast<std::uint32_t>(random.below(8)),
                             PartKind::gpu)[random.below(8)];
  }

  Cluster() {
    Random random(1);
    for (std::uint32_t drawn = 0; drawn < paths_drawn; ++drawn) {
      const PartId from = memory(random);
      const PartId to = gpu(random);
      const PartId out =
          topology.nic(topology.host_of(from), topology.nics_near(from)[random.below(4)].nic);
      const PartId in = topology.nic(topology.host_of(to), topology.nics_near(to)[0].nic);
      std::vector<EdgeId>& path = paths.emplace_back();
      topology.append_inside(from, out, path);
      topology.append_wire(out, in, drawn, path);
      topology.append_inside(in, to, path);
    }
  }
};

}  // namespace larder::bench
