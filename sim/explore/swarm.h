#pragma once

#include <cstdint>
#include <string>

#include "core/base/random.h"
#include "sim/fabric/network.h"

namespace larder::sim {

// What one seed draws: the shape of its pool, what its clients do, and which faults it has. Each
// fault kind is off in most seeds, so that some seeds have one alone and rare ones are not drowned.
struct Swarm {
  // Pool.
  std::uint32_t nodes = 2;
  std::uint32_t clients = 3;
  std::uint32_t keys = 8;
  Bytes segment;
  Bytes object_max;
  std::string policy;
  Bytes nic_per_second;    // slow ones make transfers overlap with everything else
  bool one_sided = false;  // readers read without the node's process, and check footers
  bool checksum = true;

  // Clients.
  std::uint32_t in_flight = 20;  // operations of all clients at once
  double upserts = 0;            // shares of all operations
  double removes = 0;
  double forced = 0;  // of the removals
  double exists = 0;
  double groups = 0;  // of the puts
  double short_deadlines = 0;

  // Faults.
  LinkFaults network;
  Duration between_client_crashes{0};  // mean; zero: none
  Duration between_node_crashes{0};
  Duration between_master_crashes{0};
  Duration between_stops{0};       // of any process, as by SIGSTOP
  Duration between_partitions{0};  // of one host from all others
  bool drifting_clocks = false;    // within what leases promise

  std::string fault_names() const;
};

Swarm draw_swarm(Random random);

}  // namespace larder::sim
