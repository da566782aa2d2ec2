#include "core/topology/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace larder {
namespace {

using testing::ElementsAre;

Topology preset(std::string_view name, std::uint32_t hosts = 2) {
  Hardware hardware = hardware_preset(name).value();
  hardware.hosts[0].count = hosts;
  return Topology::make(hardware).value();
}

PartId at(const Topology& topology, std::uint32_t host, std::string_view name) {
  return topology.find(host, name).value();
}

std::vector<std::string> nics_near(const Topology& topology, std::string_view place,
                                   Nearness nearness) {
  std::vector<std::string> names;
  for (const NearNic& nic : topology.nics_near(at(topology, 0, place))) {
    if (nic.nearness == nearness)
      names.push_back(topology.name(topology.nic(0, nic.nic)).substr(6));
  }
  return names;
}

std::vector<std::string> names_of(const Topology& topology, const std::vector<EdgeId>& path) {
  std::vector<std::string> names;
  for (const EdgeId edge : path) names.push_back(topology.name(edge));
  return names;
}

// ---- which NICs are near ------------------------------------------------------------------------

TEST(NearNics, OfDramAreAllThoseOfItsSocket) {
  const Topology topology = preset("8xh800-8x200");
  EXPECT_THAT(nics_near(topology, "dram0", Nearness::nearest),
              ElementsAre("nic0", "nic1", "nic2", "nic3"));
  EXPECT_THAT(nics_near(topology, "dram0", Nearness::same_socket), ElementsAre());
  EXPECT_THAT(nics_near(topology, "dram1", Nearness::nearest),
              ElementsAre("nic4", "nic5", "nic6", "nic7"));
  EXPECT_THAT(nics_near(topology, "dram1", Nearness::other_socket),
              ElementsAre("nic0", "nic1", "nic2", "nic3"));
}

TEST(NearNics, OfAGpuAreThoseUnderItsSwitchAndEachGpuBeginsWithAnother) {
  const Topology topology = preset("8xh800-8x200");
  EXPECT_THAT(nics_near(topology, "gpu0", Nearness::nearest), ElementsAre("nic0", "nic1"));
  EXPECT_THAT(nics_near(topology, "gpu1", Nearness::nearest), ElementsAre("nic1", "nic0"));
  EXPECT_THAT(nics_near(topology, "gpu0", Nearness::same_socket), ElementsAre("nic2", "nic3"));
  EXPECT_THAT(nics_near(topology, "gpu0", Nearness::other_socket),
              ElementsAre("nic4", "nic5", "nic6", "nic7"));
  std::set<std::string> firsts;
  for (int gpu = 0; gpu < 8; ++gpu) {
    firsts.insert(nics_near(topology, "gpu" + std::to_string(gpu), Nearness::nearest)[0]);
  }
  EXPECT_EQ(firsts.size(), 8u);
}

TEST(NearNics, AreSharedByTwoGpusWhereThereAreHalfAsMany) {
  const Topology topology = preset("8xh800-4x200");
  for (int gpu = 0; gpu < 8; ++gpu) {
    EXPECT_THAT(nics_near(topology, "gpu" + std::to_string(gpu), Nearness::nearest),
                ElementsAre("nic" + std::to_string(gpu / 2)));
  }
}

TEST(NearNics, AreThoseOfTheSocketForGpusWhoseSwitchHasNone) {
  const Topology topology = preset("8xa100-2x100");
  EXPECT_THAT(nics_near(topology, "gpu3", Nearness::nearest), ElementsAre("nic0"));
  EXPECT_THAT(nics_near(topology, "gpu4", Nearness::nearest), ElementsAre("nic1"));
  EXPECT_THAT(nics_near(topology, "gpu4", Nearness::other_socket), ElementsAre("nic0"));
}

TEST(NearNics, AreThoseOfTheOtherSocketWhereTheOwnHasNone) {
  const Topology topology = preset("cpu-1x25");
  EXPECT_THAT(nics_near(topology, "dram1", Nearness::nearest), ElementsAre("nic0"));
}

TEST(NearNics, TellTheNarrowestRateOfTheWay) {
  Hardware hardware = hardware_preset("cpu-2x100").value();
  for (HardwareLink& link : hardware.hosts[0].links) {
    if (link.between == std::array<std::string, 2>{"socket0", "socket1"}) {
      link.per_second = {1'000};
      link.count = 3;
    }
  }
  const Topology topology = Topology::make(hardware).value();
  const auto nics = topology.nics_near(at(topology, 0, "dram0"));
  ASSERT_EQ(nics.size(), 2u);
  EXPECT_EQ(nics[0].per_second, topology.per_second(EdgeId{[&] {
    std::vector<EdgeId> wire;
    topology.append_wire(topology.nic(0, 0), topology.nic(1, 0), 0, wire);
    return wire[0].value;
  }()}));
  EXPECT_EQ(nics[1].per_second, Bytes{3'000});
}

// ---- ways ---------------------------------------------------------------------------------------

TEST(Ways, GoThroughTheSwitchAndNotTheSocketWhereTheyCan) {
  const Topology topology = preset("8xh800-8x200");
  std::vector<EdgeId> path;
  topology.append_inside(at(topology, 1, "gpu0"), at(topology, 1, "nic1"), path);
  EXPECT_THAT(names_of(topology, path),
              ElementsAre("host1/gpu0 to host1/switch0", "host1/switch0 to host1/nic1"));
}

TEST(Ways, FromANicToTheFarDramCrossTheSockets) {
  const Topology topology = preset("cpu-1x25");
  std::vector<EdgeId> path;
  topology.append_inside(at(topology, 0, "nic0"), at(topology, 0, "dram1"), path);
  EXPECT_THAT(names_of(topology, path),
              ElementsAre("host0/nic0 to host0/root0", "host0/root0 to host0/socket0",
                          "host0/socket0 to host0/socket1", "host0/socket1, host0/dram1"));
  EXPECT_EQ(topology.latency(path), Duration(150 + 150 + 70 + 95));
}

TEST(Ways, DramSharesItsRateBetweenReadsAndWritesAndPcieDoesNot) {
  const Topology topology = preset("cpu-1x25");
  const PartId nic = at(topology, 0, "nic0");
  const PartId dram = at(topology, 0, "dram0");
  std::vector<EdgeId> in;
  std::vector<EdgeId> out;
  topology.append_inside(nic, dram, in);
  topology.append_inside(dram, nic, out);
  EXPECT_EQ(in.back(), out.front());
  EXPECT_NE(in.front(), out.back());
}

TEST(Ways, OnOneRailCrossNoSpine) {
  const Topology topology = preset("8xh800-8x200");
  std::vector<EdgeId> path;
  topology.append_wire(topology.nic(0, 3), topology.nic(1, 3), 7, path);
  EXPECT_THAT(names_of(topology, path), ElementsAre("host0/nic3 to leaf3", "leaf3 to host1/nic3"));
  EXPECT_TRUE(topology.same_leaf(topology.nic(0, 3), topology.nic(1, 3)));
}

TEST(Ways, BetweenRailsAndGroupsCrossTheSpineThatTheSpreadPicks) {
  const Topology topology = preset("8xh800-8x200", 40);  // 32 on a leaf
  std::vector<EdgeId> path;
  topology.append_wire(topology.nic(0, 3), topology.nic(1, 4), 6, path);
  topology.append_wire(topology.nic(0, 3), topology.nic(33, 3), 1, path);
  EXPECT_THAT(names_of(topology, path),
              ElementsAre("host0/nic3 to leaf3", "leaf3 to spine2", "spine2 to leaf4",
                          "leaf4 to host1/nic4", "host0/nic3 to leaf3", "leaf3 to spine1",
                          "spine1 to leaf11", "leaf11 to host33/nic3"));
  EXPECT_FALSE(topology.same_leaf(topology.nic(0, 3), topology.nic(33, 3)));
}

TEST(Ways, FromAPartToItselfAreEmptyAndHaveNoLimit) {
  const Topology topology = preset("cpu-1x25");
  std::vector<EdgeId> path;
  topology.append_inside(at(topology, 0, "dram0"), at(topology, 0, "dram0"), path);
  EXPECT_TRUE(path.empty());
  EXPECT_EQ(topology.per_second(path), Bytes{~std::uint64_t{0}});
}

TEST(Topology, TellsItsPartsApart) {
  Hardware hardware = hardware_preset("cpu-1x25").value();
  hardware.hosts[0].count = 3;
  hardware.hosts.push_back(hardware_preset("8xh20-4x200").value().hosts[0]);
  const Topology topology = Topology::make(hardware).value();
  EXPECT_EQ(topology.hosts(), 11u);
  const PartId gpu = at(topology, 10, "gpu7");
  EXPECT_EQ(topology.name(gpu), "host10/gpu7");
  EXPECT_EQ(topology.kind(gpu), PartKind::gpu);
  EXPECT_EQ(topology.host_of(gpu), 10u);
  EXPECT_EQ(topology.host_of(at(topology, 2, "socket0")), 2u);
  EXPECT_EQ(topology.hardware_of(2).name, "cpu-1x25");
  EXPECT_EQ(topology.hardware_of(3).name, "8xh20-4x200");
  EXPECT_EQ(topology.find(0, "gpu0"), std::nullopt);
  EXPECT_EQ(topology.kind({topology.parts() - 1}), PartKind::spine);
  std::set<std::string> names;
  for (std::uint32_t part = 0; part < topology.parts(); ++part)
    names.insert(topology.name(PartId{part}));
  EXPECT_EQ(names.size(), topology.parts());
}

TEST(Topology, RefusesWhatCannotBe) {
  Hardware hardware = hardware_preset("cpu-1x25").value();
  hardware.hosts[0].links.pop_back();
  EXPECT_FALSE(Topology::make(hardware));
}

// ---- any hardware -------------------------------------------------------------------------------

// Sockets in a line or ring, random PCIe trees, devices anywhere.
Hardware any_hardware() {
  HardwareHost host{.name = "any", .count = *rc::gen::inRange(1u, 4u)};
  const auto rate = [] { return Bytes{*rc::gen::inRange<std::uint64_t>(1, 1'000'000)}; };
  const auto add = [&](std::string name, PartKind kind, const std::string& above) {
    host.parts.push_back({.name = name,
                          .kind = kind,
                          .capacity = {1},
                          .per_second = rate(),
                          .messages_per_second = 1,
                          .rail = *rc::gen::inRange(0u, 3u)});
    if (above.empty()) return;
    host.links.push_back({.between = {above, std::move(name)},
                          .per_second = rate(),
                          .count = *rc::gen::inRange(1u, 4u),
                          .shared = *rc::gen::arbitrary<bool>(),
                          .latency = Duration(*rc::gen::inRange(0, 1'000))});
  };
  const int sockets = *rc::gen::inRange(1, 5);
  std::vector<std::string> tree;
  for (int socket = 0; socket < sockets; ++socket) {
    const std::string name = "s" + std::to_string(socket);
    add(name, PartKind::socket, socket == 0 ? "" : "s" + std::to_string(socket - 1));
    add("m" + std::to_string(socket), PartKind::dram, name);
    const std::string root = "r" + std::to_string(socket);
    add(root, PartKind::root_port, name);
    tree.push_back(root);
  }
  if (sockets > 2 && *rc::gen::arbitrary<bool>()) {
    host.links.push_back(
        {.between = {"s0", "s" + std::to_string(sockets - 1)}, .per_second = rate()});
  }
  add("n0", PartKind::nic, *rc::gen::elementOf(tree));
  const int more = *rc::gen::inRange(0, 12);
  for (int part = 1; part <= more; ++part) {
    const auto kind = *rc::gen::element(PartKind::pcie_switch, PartKind::nic, PartKind::gpu);
    const std::string name = "n" + std::to_string(part);
    add(name, kind, *rc::gen::elementOf(tree));
    if (kind == PartKind::pcie_switch) tree.push_back(name);
  }
  return {.hosts = {std::move(host)},
          .network = {.hosts_per_leaf = *rc::gen::inRange(1u, 4u),
                      .spines = *rc::gen::inRange(1u, 4u),
                      .uplink_per_second = rate()}};
}

// The links between all parts of a host, by the textbook (Floyd and Warshall).
std::map<std::pair<std::string, std::string>, int> distances(const HardwareHost& host) {
  std::map<std::pair<std::string, std::string>, int> far;
  for (const HardwarePart& a : host.parts) {
    for (const HardwarePart& b : host.parts) far[{a.name, b.name}] = a.name == b.name ? 0 : 999;
  }
  for (const HardwareLink& link : host.links) {
    far[{link.between[0], link.between[1]}] = far[{link.between[1], link.between[0]}] = 1;
  }
  for (const HardwarePart& by : host.parts) {
    for (const HardwarePart& a : host.parts) {
      for (const HardwarePart& b : host.parts) {
        int& best = far[{a.name, b.name}];
        best = std::min(best, far[{a.name, by.name}] + far[{by.name, b.name}]);
      }
    }
  }
  return far;
}

RC_GTEST_PROP(AnyTopology, WaysJoinTheirEndsByTheFewestLinks, ()) {
  const Hardware hardware = any_hardware();
  const HardwareHost& kind = hardware.hosts[0];
  const Topology topology = Topology::make(hardware).value();
  const std::uint32_t host = *rc::gen::inRange(0u, topology.hosts());
  const std::string prefix = "host" + std::to_string(host) + "/";
  const auto far = distances(kind);
  for (const HardwarePart& from : kind.parts) {
    for (const HardwarePart& to : kind.parts) {
      std::vector<EdgeId> path;
      topology.append_inside(at(topology, host, from.name), at(topology, host, to.name), path);
      RC_ASSERT(static_cast<int>(path.size()) == far.at({from.name, to.name}));
      std::string here = prefix + from.name;
      for (const EdgeId edge : path) {
        // "a to b", or "a, b" and "b, a" for both directions.
        const std::string name = topology.name(edge);
        const std::size_t comma = name.find(", ");
        if (comma != std::string::npos) {
          const std::string first = name.substr(0, comma);
          const std::string second = name.substr(comma + 2);
          RC_ASSERT(here == first || here == second);
          here = here == first ? second : first;
        } else {
          RC_ASSERT(name.starts_with(here + " to "));
          here = name.substr(here.size() + 4);
        }
      }
      RC_ASSERT(here == prefix + to.name);
    }
  }
}

RC_GTEST_PROP(AnyTopology, NearNicsAreAllOfTheHostTheFewestLinksFirst, ()) {
  const Hardware hardware = any_hardware();
  const HardwareHost& kind = hardware.hosts[0];
  const Topology topology = Topology::make(hardware).value();
  const auto far = distances(kind);
  const std::size_t nics =
      static_cast<std::size_t>(std::ranges::count(kind.parts, PartKind::nic, &HardwarePart::kind));
  for (const HardwarePart& place : kind.parts) {
    const auto near = topology.nics_near(at(topology, 0, place.name));
    RC_ASSERT(near.size() == nics);
    RC_ASSERT(near[0].nearness == Nearness::nearest);
    RC_ASSERT(std::ranges::is_sorted(near, {}, &NearNic::nearness));
    std::set<std::uint32_t> numbers;
    for (const NearNic& nic : near) {
      numbers.insert(nic.nic);
      const PartId part = topology.nic(0, nic.nic);
      std::vector<EdgeId> path;
      topology.append_inside(at(topology, 0, place.name), part, path);
      const Bytes port = kind.parts[part.value].per_second;
      RC_ASSERT(nic.per_second == std::min(port, topology.per_second(path)));
    }
    RC_ASSERT(numbers.size() == nics);
    if (place.kind == PartKind::gpu) {
      const auto links = [&](const NearNic& nic) {
        return far.at({place.name, kind.parts[topology.nic(0, nic.nic).value].name});
      };
      for (std::size_t i = 1; i < near.size(); ++i) {
        if (near[i].nearness != near[i - 1].nearness) continue;
        RC_ASSERT(links(near[i - 1]) <= links(near[i]));
      }
    }
  }
}

RC_GTEST_PROP(AnyTopology, WiresJoinAllNics, ()) {
  const Topology topology = Topology::make(any_hardware()).value();
  const auto any_nic = [&] {
    const auto nics = topology.parts_of(*rc::gen::inRange(0u, topology.hosts()), PartKind::nic);
    return *rc::gen::elementOf(nics);
  };
  const PartId from = any_nic();
  const PartId to = any_nic();
  std::vector<EdgeId> path;
  topology.append_wire(from, to, *rc::gen::arbitrary<std::uint32_t>(), path);
  RC_ASSERT(path.size() == (topology.same_leaf(from, to) ? 2u : 4u));
  std::string here = topology.name(from);
  for (const EdgeId edge : path) {
    RC_ASSERT(topology.name(edge).starts_with(here + " to "));
    here = topology.name(edge).substr(here.size() + 4);
  }
  RC_ASSERT(here == topology.name(to));
}

}  // namespace
}  // namespace larder
