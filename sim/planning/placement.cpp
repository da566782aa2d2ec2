#include "sim/planning/placement.h"

#include <algorithm>
#include <string>

#include "core/base/size_text.h"

namespace larder::sim {
namespace {

Result<std::vector<Placement::Engine>> place_engines(const Setting& setting,
                                                     const Topology& topology) {
  std::vector<Placement::Engine> engines;
  std::uint64_t gpus = 0;
  for (std::uint32_t host = 0; host < topology.hosts(); ++host) {
    const std::vector<PartId> here = topology.parts_of(host, PartKind::gpu);
    gpus += here.size();
    const std::vector<PartId> drams = topology.parts_of(host, PartKind::dram);
    for (std::size_t first = 0; first + setting.gpus_per_engine <= here.size() &&
                                engines.size() < setting.engines && !drams.empty();
         first += setting.gpus_per_engine) {
      const auto begin = here.begin() + static_cast<std::ptrdiff_t>(first);
      engines.push_back(
          {.host = host, .gpus = {begin, begin + setting.gpus_per_engine}, .drams = drams});
    }
  }
  if (engines.size() == setting.engines) return engines;
  if (setting.serving || gpus > 0) {
    return failed(ErrorCode::invalid_params,
                  "engines is " + std::to_string(setting.engines) + ", each of " +
                      std::to_string(setting.gpus_per_engine) + " GPUs of one host; the " +
                      std::to_string(topology.hosts()) + " hosts have " + std::to_string(gpus) +
                      " GPUs, which are enough for " + std::to_string(engines.size()) +
                      (gpus == 0 ? ": without GPUs, serving off replays the pool alone" : ""));
  }
  for (std::uint32_t engine = 0; engine < setting.engines; ++engine) {
    const std::uint32_t host = engine % topology.hosts();
    engines.push_back({.host = host, .drams = topology.parts_of(host, PartKind::dram)});
  }
  return engines;
}

std::vector<Placement::Node> place_nodes(const Setting& setting, const Topology& topology) {
  std::vector<std::uint32_t> hosts;
  for (const bool with_gpus : {false, true}) {
    for (std::uint32_t host = 0; host < topology.hosts(); ++host) {
      if (topology.parts_of(host, PartKind::gpu).empty() != with_gpus) hosts.push_back(host);
    }
  }
  std::vector<Placement::Node> nodes;
  for (std::size_t node = 0; node < setting.nodes; ++node) {
    const std::uint32_t host = hosts[node % hosts.size()];
    const std::vector<PartId> drams = topology.parts_of(host, PartKind::dram);
    nodes.push_back({.host = host, .memory = drams[node / hosts.size() % drams.size()]});
  }
  return nodes;
}

// What is to lie in one DRAM.
struct Share {
  Bytes sum;
  std::size_t parts = 0;
  std::string what;  // the first ones
  static constexpr std::size_t named_max = 8;
  void add(Bytes bytes, const std::string& of) {
    sum += bytes;
    if (++parts > named_max) return;
    what += (what.empty() ? "" : ", ") + size_text(bytes) + " of " + of;
  }
  std::string text() const {
    return parts <= named_max ? what : what + ", " + std::to_string(parts - named_max) + " more";
  }
};

Status check_memory(const Setting& setting, const Topology& topology, const Placement& placement) {
  std::vector<Share> shares(topology.parts());
  if (setting.memory_per_node) {
    for (std::size_t node = 0; node < placement.nodes.size(); ++node) {
      shares[placement.nodes[node].memory.value].add(*setting.memory_per_node,
                                                     "node " + std::to_string(node));
    }
  }
  if (setting.serving) {
    for (std::size_t engine = 0; engine < placement.engines.size(); ++engine) {
      const std::vector<PartId>& drams = placement.engines[engine].drams;
      for (const PartId dram : drams) {
        shares[dram.value].add(setting.host_memory / drams.size(),
                               "the cache of engine " + std::to_string(engine));
      }
    }
  }
  for (std::uint32_t host = 0; host < topology.hosts(); ++host) {
    for (const PartId dram : topology.parts_of(host, PartKind::dram)) {
      const auto& parts = topology.hardware_of(host).parts;
      const std::string name = topology.name(dram);
      const auto part =
          std::ranges::find(parts, name.substr(name.find('/') + 1), &HardwarePart::name);
      const Share& share = shares[dram.value];
      if (share.sum <= part->capacity) continue;
      const std::size_t drams = topology.parts_of(host, PartKind::dram).size();
      const bool splits =
          drams > 1 && setting.memory_per_node.value_or(Bytes{}) > part->capacity / 2;
      return failed(
          ErrorCode::invalid_params,
          name + " has " + size_text(part->capacity) + ", and is to hold " + size_text(share.sum) +
              ": " + share.text() + " (memory-per-node, host-memory)" +
              (splits
                   ? ". A node lies in one memory of its host, which has " + std::to_string(drams) +
                         ": ask for as many times more nodes, each so much smaller"
                   : ""));
    }
  }
  return {};
}

}  // namespace

Result<Placement> place(const Setting& setting, const Topology& topology) {
  for (std::uint32_t host = 0; host < topology.hosts(); ++host) {
    if (topology.parts_of(host, PartKind::dram).empty()) {
      return failed(ErrorCode::invalid_params,
                    "host" + std::to_string(host) + " has no DRAM, where nodes could be");
    }
  }
  Placement placement;
  LARDER_TRY(placement.engines, place_engines(setting, topology));
  placement.nodes = place_nodes(setting, topology);
  LARDER_CHECK(check_memory(setting, topology, placement));
  return placement;
}

}  // namespace larder::sim
