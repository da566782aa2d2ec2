#include "core/topology/topology.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/assert.h"
#include "core/topology/host_ways.h"

namespace larder {
namespace {

std::string numbered(std::string_view name, std::uint32_t number) {
  return std::string(name) + std::to_string(number);
}

}  // namespace

struct Topology::Kind {
  explicit Kind(const HardwareHost& of) : host(of), ways(host) {}
  HardwareHost host;
  HostWays ways;
};

Result<Topology> Topology::make(const Hardware& hardware) {
  LARDER_CHECK(check_hardware(hardware));
  Topology topology;
  topology.add_hosts(hardware);
  topology.add_network(hardware.network);
  return topology;
}

void Topology::add_hosts(const Hardware& hardware) {
  for (const HardwareHost& kind : hardware.hosts) {
    const auto number = static_cast<std::uint32_t>(kinds_.size());
    kinds_.push_back(std::make_shared<const Kind>(kind));
    for (std::uint32_t host = 0; host < kind.count; ++host) {
      hosts_.push_back({.kind = number, .first_part = parts_, .first_edge = edges()});
      parts_ += static_cast<std::uint32_t>(kind.parts.size());
      for (const HardwareLink& link : kind.links) {
        add_link({.from = *find(hosts() - 1, link.between[0]),
                  .to = *find(hosts() - 1, link.between[1]),
                  .shared = link.shared},
                 link.per_second * link.count, link.latency);
      }
    }
    for (const HardwarePart& part : kind.parts) {
      if (part.kind == PartKind::nic) rails_ = std::max(rails_, part.rail + 1);
    }
  }
}

void Topology::add_network(const HardwareNetwork& network) {
  hosts_per_leaf_ = network.hosts_per_leaf;
  spines_ = network.spines;
  const std::uint32_t groups = (hosts() + hosts_per_leaf_ - 1) / hosts_per_leaf_;
  first_leaf_ = parts_;
  first_spine_ = first_leaf_ + groups * rails_;
  parts_ = first_spine_ + spines_;
  for (std::uint32_t host = 0; host < hosts(); ++host) {
    hosts_[host].first_wire = edges();
    for (const PartId nic : parts_of(host, PartKind::nic)) {
      add_link({.from = nic, .to = {first_leaf_ + leaf_of(nic)}, .shared = false},
               hardware_part(nic).per_second, network.nic_to_leaf);
    }
  }
  first_uplink_ = edges();
  for (std::uint32_t leaf = first_leaf_; leaf < first_spine_; ++leaf) {
    for (std::uint32_t spine = first_spine_; spine < parts_; ++spine) {
      add_link({.from = {leaf}, .to = {spine}, .shared = false}, network.uplink_per_second,
               network.leaf_to_spine);
    }
  }
}

void Topology::add_link(const Link& link, Bytes per_second, Duration latency) {
  links_.push_back(link);
  edge_rates_.insert(edge_rates_.end(), 2, per_second);
  edge_latencies_.insert(edge_latencies_.end(), 2, latency);
}

std::uint32_t Topology::host_of(PartId part) const {
  LARDER_ASSERT(part.value < first_leaf_);
  const auto after = std::ranges::upper_bound(hosts_, part.value, {}, &Host::first_part);
  return static_cast<std::uint32_t>(after - hosts_.begin()) - 1;
}

std::uint32_t Topology::number_inside(PartId part) const {
  return part.value - hosts_[host_of(part)].first_part;
}

const HardwareHost& Topology::hardware_of(std::uint32_t host) const {
  return kinds_[hosts_[host].kind]->host;
}

const HardwarePart& Topology::hardware_part(PartId part) const {
  return hardware_of(host_of(part)).parts[number_inside(part)];
}

PartKind Topology::kind(PartId part) const {
  if (part.value < first_leaf_) return hardware_part(part).kind;
  return part.value < first_spine_ ? PartKind::leaf : PartKind::spine;
}

std::string Topology::name(PartId part) const {
  if (part.value >= first_spine_) return numbered("spine", part.value - first_spine_);
  if (part.value >= first_leaf_) return numbered("leaf", part.value - first_leaf_);
  return numbered("host", host_of(part)) + "/" + hardware_part(part).name;
}

std::string Topology::name(EdgeId edge) const {
  const Link& link = links_[edge.value / 2];
  if (link.shared) return name(link.from) + ", " + name(link.to);
  const bool along = edge.value % 2 == 0;
  return name(along ? link.from : link.to) + " to " + name(along ? link.to : link.from);
}

std::optional<PartId> Topology::find(std::uint32_t host, std::string_view name) const {
  const std::vector<HardwarePart>& parts = hardware_of(host).parts;
  const auto found = std::ranges::find(parts, name, &HardwarePart::name);
  if (found == parts.end()) return std::nullopt;
  return PartId{hosts_[host].first_part + static_cast<std::uint32_t>(found - parts.begin())};
}

std::vector<PartId> Topology::parts_of(std::uint32_t host, PartKind kind) const {
  std::vector<PartId> found;
  const std::vector<HardwarePart>& parts = hardware_of(host).parts;
  for (std::uint32_t part = 0; part < parts.size(); ++part) {
    if (parts[part].kind == kind) found.push_back({hosts_[host].first_part + part});
  }
  return found;
}

std::span<const NearNic> Topology::nics_near(PartId place) const {
  return kinds_[hosts_[host_of(place)].kind]->ways.nics_near(number_inside(place));
}

PartId Topology::nic(std::uint32_t host, std::uint32_t number) const {
  const std::span<const std::uint32_t> nics = kinds_[hosts_[host].kind]->ways.nics();
  LARDER_ASSERT(number < nics.size());
  return {hosts_[host].first_part + nics[number]};
}

void Topology::append_inside(PartId from, PartId to, std::vector<EdgeId>& path) const {
  const std::uint32_t number = host_of(from);
  LARDER_ASSERT(number == host_of(to));
  const Host& host = hosts_[number];
  for (const std::uint32_t edge :
       kinds_[host.kind]->ways.way(from.value - host.first_part, to.value - host.first_part)) {
    path.push_back({host.first_edge + edge});
  }
}

std::uint32_t Topology::leaf_of(PartId nic) const {
  return host_of(nic) / hosts_per_leaf_ * rails_ + hardware_part(nic).rail;
}

bool Topology::same_leaf(PartId a_nic, PartId b_nic) const {
  return leaf_of(a_nic) == leaf_of(b_nic);
}

void Topology::append_wire(PartId from_nic, PartId to_nic, std::uint32_t spread,
                           std::vector<EdgeId>& path) const {
  const auto wire = [&](PartId nic) {
    const Host& host = hosts_[host_of(nic)];
    const std::span<const std::uint32_t> nics = kinds_[host.kind]->ways.nics();
    const auto found = std::ranges::find(nics, nic.value - host.first_part);
    LARDER_ASSERT(found != nics.end(), "not a NIC");
    return host.first_wire + 2 * static_cast<std::uint32_t>(found - nics.begin());
  };
  const std::uint32_t from_leaf = leaf_of(from_nic);
  const std::uint32_t to_leaf = leaf_of(to_nic);
  path.push_back({wire(from_nic)});
  if (from_leaf != to_leaf) {
    const std::uint32_t spine = spread % spines_;
    path.push_back({first_uplink_ + 2 * (from_leaf * spines_ + spine)});
    path.push_back({first_uplink_ + 2 * (to_leaf * spines_ + spine) + 1});
  }
  path.push_back({wire(to_nic) + 1});
}

Bytes Topology::per_second(std::span<const EdgeId> path) const {
  Bytes narrowest{std::numeric_limits<std::uint64_t>::max()};
  for (const EdgeId edge : path) narrowest = std::min(narrowest, per_second(edge));
  return narrowest;
}

Duration Topology::latency(std::span<const EdgeId> path) const {
  Duration sum{0};
  for (const EdgeId edge : path) sum += latency(edge);
  return sum;
}

}  // namespace larder
