#include "core/topology/hardware.h"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/connected_components.hpp>
#include <map>
#include <set>
#include <utility>

#include "core/base/printable.h"

namespace larder {
namespace {

constexpr std::size_t hosts_max = 10'000;
constexpr std::size_t kinds_max = 32;
constexpr std::size_t parts_max = 512;  // of one host
constexpr std::size_t sockets_max = 32;
constexpr std::size_t depth_max = 16;            // of what hangs below a socket
constexpr std::uint64_t of_all_max = 4'000'000;  // parts, and links, of all hosts together
constexpr std::uint64_t uplinks_max = 1'000'000;
constexpr std::size_t name_max = 64;
constexpr std::uint32_t parallel_max = 1'024;
constexpr std::uint32_t cores_max = 4'096;
constexpr std::uint32_t rails_max = 64;
constexpr std::uint32_t spines_max = 1'024;
constexpr Bytes rate_max{1'000'000'000'000'000};  // 1 PB/s
constexpr Bytes capacity_max{std::uint64_t{1} << 60};
constexpr std::uint64_t messages_max = 1'000'000'000'000;
constexpr double price_max = 1e9;
constexpr Duration latency_max{1'000'000'000};

constexpr std::array<std::pair<PartKind, std::string_view>, 9> kind_names{{
    {PartKind::socket, "socket"},
    {PartKind::dram, "dram"},
    {PartKind::root_port, "root-port"},
    {PartKind::pcie_switch, "pcie-switch"},
    {PartKind::nic, "nic"},
    {PartKind::gpu, "gpu"},
    {PartKind::disk, "disk"},
    {PartKind::leaf, "leaf"},
    {PartKind::spine, "spine"},
}};

Status wrong(const std::string& place, const std::string& what) {
  return failed(ErrorCode::bad_file, place + ": " + what);
}

std::string in_list(const std::string& place, std::string_view list, std::size_t index) {
  return place + "/" + std::string(list) + "/" + std::to_string(index);
}

Status check_range(const std::string& place, std::uint64_t value, std::uint64_t least,
                   std::uint64_t most) {
  if (value >= least && value <= most) return {};
  return wrong(place, std::to_string(value) + " is not from " + std::to_string(least) + " to " +
                          std::to_string(most));
}

Status check_latency(const std::string& place, Duration latency) {
  if (latency >= Duration(0) && latency <= latency_max) return {};
  return wrong(place, std::to_string(latency.count()) + " is not from 0 to " +
                          std::to_string(latency_max.count()) + " ns");
}

Status check_name(const std::string& place, const std::string& name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  if (!name.empty() && name.size() <= name_max && std::ranges::all_of(name, allowed)) return {};
  return wrong(place, in_quotes(name) + " is no name: 1 to " + std::to_string(name_max) +
                          " letters, digits, '-', '_' and '.'");
}

bool is_device(PartKind kind) {
  return kind == PartKind::nic || kind == PartKind::gpu || kind == PartKind::disk;
}

// How far below the sockets a part of the PCIe tree stands; links lead from above to below.
bool may_stand_above(PartKind above, PartKind below) {
  switch (above) {
    case PartKind::socket:
      return below == PartKind::dram || below == PartKind::root_port;
    case PartKind::root_port:
    case PartKind::pcie_switch:
      return below == PartKind::pcie_switch || is_device(below);
    default:
      return false;
  }
}

Status check_part(const std::string& place, const HardwarePart& part) {
  LARDER_CHECK(check_name(place + "/name", part.name));
  if (part.kind == PartKind::leaf || part.kind == PartKind::spine) {
    return wrong(place + "/kind",
                 std::string(part_kind_name(part.kind)) +
                     " is no part of a host: leaves and spines come from /network");
  }
  if (part.kind == PartKind::dram || part.kind == PartKind::gpu || part.kind == PartKind::disk) {
    LARDER_CHECK(
        check_range(place + "/capacity_bytes", part.capacity.value, 1, capacity_max.value));
  }
  if (part.kind == PartKind::nic) {
    LARDER_CHECK(
        check_range(place + "/bytes_per_second", part.per_second.value, 1, rate_max.value));
    LARDER_CHECK(
        check_range(place + "/messages_per_second", part.messages_per_second, 1, messages_max));
    LARDER_CHECK(check_range(place + "/rail", part.rail, 0, rails_max - 1));
  }
  return {};
}

Status check_costs(const std::string& place, const TransferCosts& costs) {
  LARDER_CHECK(check_latency(place + "/posting_ns", costs.posting));
  LARDER_CHECK(check_latency(place + "/completion_ns", costs.completion));
  LARDER_CHECK(check_latency(place + "/registration_ns", costs.registration));
  LARDER_CHECK(check_latency(place + "/registration_ns_each_mib", costs.registration_each_mib));
  return check_range(place + "/tcp_bytes_per_second", costs.tcp_per_second.value, 1,
                     rate_max.value);
}

// One kind of host.
class HostCheck {
 public:
  HostCheck(std::string place, const HardwareHost& host) : place_(std::move(place)), host_(host) {}

  Status run() {
    LARDER_CHECK(check_name(place_ + "/name", host_.name));
    LARDER_CHECK(check_range(place_ + "/count", host_.count, 1, hosts_max));
    LARDER_CHECK(check_range(place_ + "/cores", host_.cores, 0, cores_max));
    LARDER_CHECK(check_costs(place_ + "/costs", host_.costs));
    if (const double price = host_.price_per_hour.value_or(0);
        !(price >= 0 && price <= price_max)) {
      return wrong(place_ + "/price_per_hour", "not from 0 to 1000000000");
    }
    LARDER_CHECK(check_parts());
    for (std::size_t link = 0; link < host_.links.size(); ++link) LARDER_CHECK(check_link(link));
    return check_paths();
  }

 private:
  Status check_parts() {
    if (host_.parts.size() > parts_max) {
      return wrong(place_ + "/parts", std::to_string(host_.parts.size()) + " parts: at most " +
                                          std::to_string(parts_max));
    }
    for (std::size_t part = 0; part < host_.parts.size(); ++part) {
      const std::string at = in_list(place_, "parts", part);
      LARDER_CHECK(check_part(at, host_.parts[part]));
      if (const auto [first, is_new] = by_name_.emplace(host_.parts[part].name, part); !is_new) {
        return wrong(at + "/name", in_quotes(host_.parts[part].name) + " is the name of " +
                                       in_list(place_, "parts", first->second) + " already");
      }
    }
    if (const auto sockets = std::ranges::count(host_.parts, PartKind::socket, &HardwarePart::kind);
        static_cast<std::size_t>(sockets) > sockets_max) {
      return wrong(place_ + "/parts",
                   std::to_string(sockets) + " sockets: at most " + std::to_string(sockets_max));
    }
    for (const PartKind needed : {PartKind::socket, PartKind::dram, PartKind::nic}) {
      if (std::ranges::find(host_.parts, needed, &HardwarePart::kind) == host_.parts.end()) {
        return wrong(place_ + "/parts", "there is no " + std::string(part_kind_name(needed)) +
                                            ": every host needs one");
      }
    }
    above_.resize(host_.parts.size());
    return {};
  }

  Status check_link(std::size_t index) {
    const HardwareLink& link = host_.links[index];
    const std::string at = in_list(place_, "links", index);
    std::array<std::size_t, 2> ends{};
    for (std::size_t end = 0; end < 2; ++end) {
      const auto found = by_name_.find(link.between[end]);
      if (found == by_name_.end()) {
        return wrong(in_list(at, "between", end),
                     in_quotes(link.between[end]) + " is no part of this host");
      }
      ends[end] = found->second;
    }
    LARDER_CHECK(check_range(at + "/bytes_per_second", link.per_second.value, 1, rate_max.value));
    LARDER_CHECK(check_range(at + "/count", link.count, 1, parallel_max));
    LARDER_CHECK(check_latency(at + "/latency_ns", link.latency));
    if (!joined_.insert(std::minmax(ends[0], ends[1])).second) {
      return wrong(at + "/between",
                   in_quotes(link.between[0]) + " and " + in_quotes(link.between[1]) +
                       " are linked already: parallel links are one, with a count");
    }
    add_edge(ends[0], ends[1], graph_);
    return check_order(at + "/between", ends);
  }

  // Who may be linked to whom, and that the PCIe tree is one.
  Status check_order(const std::string& at, std::array<std::size_t, 2> ends) {
    const PartKind first = host_.parts[ends[0]].kind;
    const PartKind second = host_.parts[ends[1]].kind;
    if (ends[0] == ends[1]) return wrong(at, "a part cannot be linked to itself");
    if (first == PartKind::socket && second == PartKind::socket) return {};
    // Two switches: the one that is named first stands above.
    const bool down = may_stand_above(first, second);
    if (!down && !may_stand_above(second, first)) {
      return wrong(at, std::string(part_kind_name(first)) + " and " +
                           std::string(part_kind_name(second)) +
                           " cannot be linked: dram and root ports hang on sockets, PCIe switches "
                           "and devices on root ports or PCIe switches");
    }
    const std::size_t above = down ? ends[0] : ends[1];
    const std::size_t below = down ? ends[1] : ends[0];
    if (above_[below]) {
      return wrong(at, in_quotes(host_.parts[below].name) + " hangs on " +
                           in_quotes(host_.parts[*above_[below]].name) + " already");
    }
    above_[below] = above;
    return {};
  }

  Status check_paths() {
    for (std::size_t part = boost::num_vertices(graph_); part < host_.parts.size(); ++part) {
      add_vertex(graph_);
    }
    std::vector<std::size_t> component(host_.parts.size());
    boost::connected_components(graph_, component.data());
    const auto nic = std::ranges::find(host_.parts, PartKind::nic, &HardwarePart::kind);
    const std::size_t with_nic = component[static_cast<std::size_t>(nic - host_.parts.begin())];
    for (std::size_t part = 0; part < host_.parts.size(); ++part) {
      const HardwarePart& each = host_.parts[part];
      const std::string name = std::string(part_kind_name(each.kind)) + " " + in_quotes(each.name);
      const std::string at = in_list(place_, "parts", part);
      if (component[part] != with_nic) {
        return wrong(at, name + " has no path to " +
                             (each.kind == PartKind::nic ? "the other NICs" : "a NIC"));
      }
      if (each.kind != PartKind::socket && !above_[part]) {
        return wrong(at, name + " hangs on nothing: it must be linked towards a socket");
      }
      if (depth_of(part) > depth_max) {
        return wrong(
            at, name + " hangs more than " + std::to_string(depth_max) + " links below its socket");
      }
    }
    return {};
  }

  // How far below its socket it hangs. What has a path to a socket is in no circle, since a part
  // hangs on one other.
  std::size_t depth_of(std::size_t part) const {
    std::size_t depth = 0;
    for (; above_[part]; part = *above_[part]) ++depth;
    return depth;
  }

  std::string place_;
  const HardwareHost& host_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  std::set<std::pair<std::size_t, std::size_t>> joined_;
  std::vector<std::optional<std::size_t>> above_;  // by part: what it hangs on
  boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS> graph_;
};

Status check_network(const Hardware& hardware, std::uint64_t hosts) {
  const HardwareNetwork& network = hardware.network;
  LARDER_CHECK(check_range("/network/hosts_per_leaf", network.hosts_per_leaf, 1, hosts_max));
  LARDER_CHECK(check_range("/network/spines", network.spines, 0, spines_max));
  LARDER_CHECK(check_latency("/network/nic_to_leaf_ns", network.nic_to_leaf));
  LARDER_CHECK(check_latency("/network/leaf_to_spine_ns", network.leaf_to_spine));
  std::set<std::uint32_t> rails;
  for (const HardwareHost& host : hardware.hosts) {
    for (const HardwarePart& part : host.parts) {
      if (part.kind == PartKind::nic) rails.insert(part.rail);
    }
  }
  const std::uint64_t groups = (hosts + network.hosts_per_leaf - 1) / network.hosts_per_leaf;
  if (network.spines > 0) {
    const std::uint64_t uplinks = groups * (*rails.rbegin() + 1) * network.spines;
    if (uplinks > uplinks_max) {
      return wrong("/network/spines",
                   std::to_string(network.spines) + " make " + std::to_string(uplinks) +
                       " uplinks, one of each leaf: " + "at most " + std::to_string(uplinks_max));
    }
    return check_range("/network/uplink_bytes_per_second", network.uplink_per_second.value, 1,
                       rate_max.value);
  }
  if (rails.size() * groups == 1) return {};
  return wrong("/network/spines", "0, but there are " + std::to_string(rails.size() * groups) +
                                      " leaves (rails times groups of hosts), which only a spine "
                                      "joins");
}

}  // namespace

std::string_view part_kind_name(PartKind kind) {
  return std::ranges::find(kind_names, kind, &std::pair<PartKind, std::string_view>::first)->second;
}

std::optional<PartKind> host_part_kind(std::string_view name) {
  const auto found =
      std::ranges::find(kind_names, name, &std::pair<PartKind, std::string_view>::second);
  if (found == kind_names.end() || found->first >= PartKind::leaf) return std::nullopt;
  return found->first;
}

Status check_hardware(const Hardware& hardware) {
  if (hardware.hosts.empty()) return wrong("/hosts", "there is none");
  if (hardware.hosts.size() > kinds_max) {
    return wrong("/hosts", std::to_string(hardware.hosts.size()) + " kinds of host: at most " +
                               std::to_string(kinds_max));
  }
  std::uint64_t hosts = 0;
  std::uint64_t of_all = 0;
  for (std::size_t kind = 0; kind < hardware.hosts.size(); ++kind) {
    const std::string place = in_list("", "hosts", kind);
    LARDER_CHECK(HostCheck(place, hardware.hosts[kind]).run());
    for (std::size_t other = 0; other < kind; ++other) {
      if (hardware.hosts[other].name == hardware.hosts[kind].name) {
        return wrong(place + "/name", in_quotes(hardware.hosts[kind].name) + " is the name of " +
                                          in_list("", "hosts", other) + " already");
      }
    }
    hosts += hardware.hosts[kind].count;
    if (hosts > hosts_max) {
      return wrong(place + "/count", "more than " + std::to_string(hosts_max) + " hosts in all");
    }
    const HardwareHost& host = hardware.hosts[kind];
    of_all += std::uint64_t{host.count} * std::max(host.parts.size(), host.links.size());
    if (of_all > of_all_max) {
      return wrong(place + "/count", "more than " + std::to_string(of_all_max) +
                                         " parts or links of all hosts together");
    }
  }
  return check_network(hardware, hosts);
}

}  // namespace larder
