#include "sim/explore/swarm.h"

#include <algorithm>

namespace larder::sim {
namespace {

double between(Random& random, double low, double high) {
  return low + (high - low) * random.unit();
}

Duration between(Random& random, Duration low, Duration high) {
  return low + Duration(static_cast<std::int64_t>(
                   random.below(static_cast<std::uint64_t>((high - low).count()) + 1)));
}

}  // namespace

Swarm draw_swarm(Random random) {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  Swarm swarm;
  swarm.nodes = 1 + static_cast<std::uint32_t>(random.below(4));
  swarm.clients = 2 + static_cast<std::uint32_t>(random.below(4));
  swarm.keys = 2 + static_cast<std::uint32_t>(random.below(16));
  swarm.object_max = {std::uint64_t{1} << (6 + random.below(9))};
  // Often a tight pool, so that puts wait and eviction works.
  swarm.segment = {swarm.object_max.value * (2 + random.below(12)) + 4096};
  swarm.nic_per_second = std::max(256_KiB, Bytes{swarm.object_max.value << (4 + random.below(10))});
  constexpr const char* policies[] = {"lru", "fifo", "leaf-first"};
  swarm.policy = policies[random.below(3)];
  swarm.one_sided = random.chance(0.5);
  swarm.checksum = random.chance(0.5);

  swarm.in_flight = 4 + static_cast<std::uint32_t>(random.below(28));
  if (random.chance(0.6)) swarm.upserts = between(random, 0.02, 0.3);
  if (random.chance(0.6)) swarm.removes = between(random, 0.02, 0.3);
  if (random.chance(0.5)) swarm.forced = between(random, 0.1, 1);
  if (random.chance(0.4)) swarm.exists = between(random, 0.05, 0.2);
  if (random.chance(0.4)) swarm.groups = between(random, 0.1, 1);
  if (random.chance(0.3)) swarm.short_deadlines = between(random, 0.05, 0.4);

  if (random.chance(0.4)) swarm.network.lose = between(random, 0.001, 0.1);
  if (random.chance(0.4)) swarm.network.duplicate = between(random, 0.001, 0.2);
  if (random.chance(0.4)) {
    swarm.network.reorder = between(random, 0.01, 0.5);
    swarm.network.disorder = between(random, milliseconds(1), milliseconds(500));
  }
  if (random.chance(0.4)) swarm.network.jitter = between(random, Duration(1000), milliseconds(20));
  if (random.chance(0.4)) {
    swarm.between_client_crashes = between(random, milliseconds(200), seconds(20));
  }
  if (random.chance(0.4)) {
    swarm.between_node_crashes = between(random, milliseconds(500), seconds(30));
  }
  if (random.chance(0.35)) {
    swarm.between_master_crashes = between(random, milliseconds(500), seconds(30));
  }
  if (random.chance(0.25)) swarm.between_stops = between(random, milliseconds(200), seconds(20));
  if (random.chance(0.25)) {
    swarm.between_partitions = between(random, milliseconds(500), seconds(20));
  }
  swarm.drifting_clocks = random.chance(0.5);
  return swarm;
}

std::string Swarm::fault_names() const {
  std::string names;
  const auto add = [&](bool on, const char* name) {
    if (!on) return;
    if (!names.empty()) names += ", ";
    names += name;
  };
  add(network.lose > 0, "message loss");
  add(network.duplicate > 0, "duplication");
  add(network.reorder > 0, "reordering");
  add(network.jitter > Duration(0), "delay");
  add(between_client_crashes > Duration(0), "client crashes");
  add(between_node_crashes > Duration(0), "node crashes");
  add(between_master_crashes > Duration(0), "master crashes");
  add(between_stops > Duration(0), "stopped processes");
  add(between_partitions > Duration(0), "partitions");
  add(drifting_clocks, "clock drift");
  return names.empty() ? "none" : names;
}

}  // namespace larder::sim
