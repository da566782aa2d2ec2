#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/base/time.h"
#include "core/topology/hardware.h"
#include "core/topology/near_nic.h"

namespace larder {

// Numbers the parts of a cluster, hosts and switches alike.
struct PartId {
  std::uint32_t value = 0;
  auto operator<=>(const PartId&) const = default;
};

// One direction of a link, or both where they share its rate. They are numbered from 0.
struct EdgeId {
  std::uint32_t value = 0;
  auto operator<=>(const EdgeId&) const = default;
};

// The graph of a cluster: parts joined by links. Answers which way bytes take, how fast that can
// be, and which NICs are near to which memory.
//
// Immutable, so any number of threads may ask. Memory is O(hosts times parts of a host), and
// O(parts squared) for each kind of host, whose inner ways are kept. All answers are the same on
// every machine.
class Topology {
 public:
  // Errors: of check_hardware.
  static Result<Topology> make(const Hardware& hardware);

  std::uint32_t hosts() const { return static_cast<std::uint32_t>(hosts_.size()); }
  std::uint32_t parts() const { return parts_; }
  std::uint32_t edges() const { return static_cast<std::uint32_t>(edge_rates_.size()); }

  // "host3/gpu1", "leaf2", "spine0".
  std::string name(PartId part) const;
  PartKind kind(PartId part) const;
  // The host that has the part. Precondition: it is no leaf or spine.
  std::uint32_t host_of(PartId part) const;
  // The part by its name within a host, if there is one.
  std::optional<PartId> find(std::uint32_t host, std::string_view name) const;
  // In the order of the file. What the whole host is: the kind's parts, links and costs.
  std::vector<PartId> parts_of(std::uint32_t host, PartKind kind) const;
  const HardwareHost& hardware_of(std::uint32_t host) const;

  // "host0/socket0 to host0/dram0"; of an edge for both directions "host0/socket0, host0/dram0".
  std::string name(EdgeId edge) const;
  Bytes per_second(EdgeId edge) const { return edge_rates_[edge.value]; }
  // Of all edges, by number.
  std::span<const Bytes> rates() const { return edge_rates_; }
  Duration latency(EdgeId edge) const { return edge_latencies_[edge.value]; }

  // All NICs of the host of `place`, the nearest first (near_nic.h).
  // Precondition: `place` is a part of a host.
  std::span<const NearNic> nics_near(PartId place) const;
  PartId nic(std::uint32_t host, std::uint32_t number) const;

  // The edges from a part to another one of the same host, which is the way of the fewest links;
  // appended to `path`. Nothing if they are the same.
  void append_inside(PartId from, PartId to, std::vector<EdgeId>& path) const;
  // From a NIC over leaves, and over a spine if these differ, to a NIC of any other host. `spread`
  // picks the spine: equal numbers take equal ways.
  void append_wire(PartId from_nic, PartId to_nic, std::uint32_t spread,
                   std::vector<EdgeId>& path) const;
  // Whether the wire between two NICs crosses no spine.
  bool same_leaf(PartId a_nic, PartId b_nic) const;

  // Of a path alone on it: its narrowest edge (no limit on an empty one), and the sum of
  // latencies.
  Bytes per_second(std::span<const EdgeId> path) const;
  Duration latency(std::span<const EdgeId> path) const;

 private:
  struct Kind;
  struct Host {
    std::uint32_t kind;
    std::uint32_t first_part;
    std::uint32_t first_edge;  // of the links inside
    std::uint32_t first_wire;  // the edge from its first NIC to the leaf; two for each NIC
  };
  // Edge 2 n leads from the one end of link n to the other, and 2 n + 1 back; if they share the
  // rate, 2 n stands for both.
  struct Link {
    PartId from;
    PartId to;
    bool shared;
  };

  Topology() = default;
  std::uint32_t number_inside(PartId part) const;
  const HardwarePart& hardware_part(PartId part) const;
  std::uint32_t leaf_of(PartId nic) const;
  void add_link(const Link& link, Bytes per_second, Duration latency);
  void add_hosts(const Hardware& hardware);
  void add_network(const HardwareNetwork& network);

  std::vector<std::shared_ptr<const Kind>> kinds_;
  std::vector<Host> hosts_;
  std::uint32_t parts_ = 0;
  std::uint32_t first_leaf_ = 0;    // the part
  std::uint32_t first_spine_ = 0;   // the part
  std::uint32_t first_uplink_ = 0;  // the edge from the first leaf to the first spine
  std::uint32_t spines_ = 0;
  std::uint32_t rails_ = 0;
  std::uint32_t hosts_per_leaf_ = 1;
  std::vector<Link> links_;
  std::vector<Bytes> edge_rates_;
  std::vector<Duration> edge_latencies_;
};

}  // namespace larder
