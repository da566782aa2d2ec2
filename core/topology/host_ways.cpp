#include "core/topology/host_ways.h"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace larder {
namespace {

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS,
                                    boost::no_property, std::uint32_t>;  // edges know their link
using Edge = boost::graph_traits<Graph>::edge_descriptor;

std::uint32_t link_of(std::uint32_t edge) { return edge / 2; }

Bytes whole_rate(const HardwareLink& link) { return link.per_second * link.count; }

// A NIC as it is seen from one place, before it is known what the others are like.
struct Seen {
  NearNic nic;
  std::size_t links = 0;
  bool crosses = false;  // to another socket
};

// All NICs of one's own socket are as good for its memory.
bool takes_any_of_its_socket(PartKind place) {
  return place == PartKind::socket || place == PartKind::dram;
}

void set_nearness(PartKind place, std::vector<Seen>& nics) {
  const bool any_inside = std::ranges::any_of(nics, [](const Seen& nic) { return !nic.crosses; });
  std::size_t fewest = ~std::size_t{0};
  for (const Seen& nic : nics) {
    if (nic.crosses != any_inside) fewest = std::min(fewest, nic.links);
  }
  for (Seen& nic : nics) {
    if (nic.crosses && any_inside) {
      nic.nic.nearness = Nearness::other_socket;
    } else if (nic.links == fewest || (!nic.crosses && takes_any_of_its_socket(place))) {
      nic.nic.nearness = Nearness::nearest;
    } else {
      nic.nic.nearness = nic.crosses ? Nearness::other_socket : Nearness::same_socket;
    }
  }
}

}  // namespace

HostWays::HostWays(const HardwareHost& host) : parts_(host.parts.size()) {
  for (std::uint32_t part = 0; part < parts_; ++part) {
    if (host.parts[part].kind == PartKind::nic) nics_.push_back(part);
  }
  find_ways(host);
  rank_nics(host);
}

void HostWays::find_ways(const HardwareHost& host) {
  std::map<std::string_view, std::uint32_t> by_name;
  for (std::uint32_t part = 0; part < parts_; ++part) by_name[host.parts[part].name] = part;
  Graph graph(parts_);
  for (std::uint32_t link = 0; link < host.links.size(); ++link) {
    const auto& [first, second] = host.links[link].between;
    add_edge(by_name[first], by_name[second], link, graph);
  }
  begins_.push_back(0);
  for (std::uint32_t from = 0; from < parts_; ++from) {
    std::vector<Edge> towards(parts_);  // the last edge of the way to each part
    breadth_first_search(
        graph, from,
        visitor(make_bfs_visitor(record_edge_predecessors(towards.data(), boost::on_tree_edge()))));
    for (std::uint32_t to = 0; to < parts_; ++to) {
      for (std::uint32_t at = to; at != from;) {
        const std::uint32_t link = graph[towards[at]];
        const bool along = by_name[host.links[link].between[1]] == at;
        edges_.push_back(2 * link + (along || host.links[link].shared ? 0 : 1));
        at = by_name[host.links[link].between[along ? 0 : 1]];
      }
      std::reverse(edges_.begin() + begins_.back(), edges_.end());
      begins_.push_back(static_cast<std::uint32_t>(edges_.size()));
    }
  }
}

void HostWays::rank_nics(const HardwareHost& host) {
  std::map<std::string_view, PartKind> kinds;
  for (const HardwarePart& part : host.parts) kinds[part.name] = part.kind;
  std::map<std::pair<PartKind, std::vector<std::uint32_t>>, std::size_t> places;
  for (std::uint32_t place = 0; place < parts_; ++place) {
    std::vector<Seen> seen;
    for (std::uint32_t number = 0; number < nics_.size(); ++number) {
      const HardwarePart& part = host.parts[nics_[number]];
      Seen nic{.nic = {.nic = number, .rail = part.rail, .per_second = part.per_second}};
      for (const std::uint32_t edge : way(place, nics_[number])) {
        const HardwareLink& link = host.links[link_of(edge)];
        nic.nic.per_second = std::min(nic.nic.per_second, whole_rate(link));
        nic.crosses |= kinds[link.between[0]] == PartKind::socket &&
                       kinds[link.between[1]] == PartKind::socket;
        ++nic.links;
      }
      seen.push_back(nic);
    }
    set_nearness(host.parts[place].kind, seen);
    std::ranges::sort(seen, {}, [](const Seen& nic) {
      const bool nearest = nic.nic.nearness == Nearness::nearest;
      return std::tuple(nic.nic.nearness, nearest ? 0 : nic.links, nic.nic.nic);
    });
    // Equals begin with another one of their NICs each, so that they spread over them unasked.
    const auto others = std::ranges::find_if(
        seen, [](const Seen& nic) { return nic.nic.nearness != Nearness::nearest; });
    std::vector<std::uint32_t> nearest;
    for (auto nic = seen.begin(); nic != others; ++nic) nearest.push_back(nic->nic.nic);
    const std::size_t rank =
        places[{host.parts[place].kind, nearest}]++ % std::max<std::size_t>(1, nearest.size());
    std::rotate(seen.begin(), seen.begin() + static_cast<std::ptrdiff_t>(rank), others);
    for (const Seen& nic : seen) near_.push_back(nic.nic);
  }
}

}  // namespace larder
