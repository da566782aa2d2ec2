#include "real/system/nics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/topology/topology.h"
#include "core/transfer/stripes.h"
#include "real/system/machine_host.h"

namespace larder::real {
namespace {

using namespace literals;

const std::filesystem::path machines = "tests/data/machines";

constexpr MachineRates rates{.cores = 4,
                             .memory = 64_GiB,
                             .memory_per_second = {400'000'000'000},
                             .loopback_per_second = {3'000'000'000}};

std::vector<std::string> names_of(const MachineNics& nics) {
  std::vector<std::string> names;
  for (const MachineNic& nic : nics.usable) names.push_back(nic.name);
  return names;
}

std::string reason_of(const MachineNics& nics, std::string_view name) {
  const auto found = std::ranges::find(nics.excluded, name, &ExcludedNic::name);
  return found == nics.excluded.end() ? "" : found->reason;
}

HardwareHost host_of(const char* machine) {
  return machine_host(read_numa_nodes(machines / machine), read_nics(machines / machine), rates);
}

Topology topology_of(HardwareHost host) {
  return Topology::make({.hosts = {std::move(host)}, .network = {}}).value();
}

TEST(Nics, C8AllHealthyPortsAreUsable) {
  EXPECT_EQ(names_of(read_nics(machines / "rdma8")),
            (std::vector<std::string>{"eno1", "mlx5_0", "mlx5_8", "mlx5_1", "mlx5_3", "mlx5_4",
                                      "mlx4_0.2", "mlx5_6", "mlx5_7"}));
  EXPECT_EQ(names_of(read_nics(machines / "mlx5")), (std::vector<std::string>{"mlx5_0"}));
  EXPECT_EQ(names_of(read_nics(machines / "vm")), (std::vector<std::string>{"eth1"}));
}

TEST(Nics, C8EachExcludedOneHasItsReason) {
  const MachineNics nics = read_nics(machines / "rdma8");
  EXPECT_EQ(nics.excluded.size(), 7u);
  EXPECT_EQ(reason_of(nics, "mlx5_2"),
            "its port is DOWN, physically Polling: look at its cable and the far side");
  EXPECT_EQ(reason_of(nics, "mlx5_5"), "its port is INIT: no subnet manager has set it up");
  EXPECT_EQ(reason_of(nics, "mlx4_0.1"),
            "its port is DOWN, physically Polling: look at its cable and the far side");
  EXPECT_EQ(reason_of(nics, "ens6f1np1"), "it is not set up: ip link set dev ens6f1np1 up");
  EXPECT_EQ(reason_of(nics, "mlx5_9"), "it is a virtual function of mlx5_8, whose port it shares");
  EXPECT_EQ(reason_of(nics, "enxbe3af2b6059f"), "the kernel does not tell the rate of its link");
  EXPECT_EQ(reason_of(nics, "rxe0"),
            "it is software over a network interface, which is used without it");

  EXPECT_EQ(reason_of(read_nics(machines / "mlx5"), "mlx5_1"),
            "its port is DOWN, physically Disabled: look at its cable and the far side");
  const MachineNics vm = read_nics(machines / "vm");
  EXPECT_EQ(reason_of(vm, "eth0"), "the kernel does not tell the rate of its link");
  EXPECT_EQ(reason_of(vm, "wlp6s0"), "it is wireless");
  EXPECT_EQ(vm.excluded.size(), 2u);
}

// The nearest of a socket's memory are those of its NUMA node; none is left out.
TEST(Nics, C8AreRankedNumaLocalFirst) {
  const HardwareHost host = host_of("rdma8");
  const Topology topology = topology_of(host);
  const std::map<std::string, std::set<std::string>> local{
      {"host0/dram0", {"eno1", "mlx5_0", "mlx5_8", "mlx5_1", "mlx5_3"}},
      {"host0/dram1", {"mlx5_4", "mlx4_0.2", "mlx5_6", "mlx5_7"}}};
  const auto drams = topology.parts_of(0, PartKind::dram);
  ASSERT_EQ(drams.size(), local.size());
  for (const PartId dram : drams) {
    const std::set<std::string>& near = local.at(topology.name(dram));
    const auto all = topology.nics_near(dram);
    ASSERT_EQ(all.size(), 9u);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string name = topology.name(topology.nic(0, all[i].nic)).substr(6);
      EXPECT_EQ(near.contains(name), i < near.size()) << topology.name(dram) << " " << name;
      EXPECT_EQ(all[i].nearness, i < near.size() ? Nearness::nearest : Nearness::other_socket);
    }
  }
}

// Which of the host's NICs carried bytes, in the order in which they first did, when transfers from
// a memory come faster than they end.
std::vector<std::uint32_t> order_of_use(const Topology& topology, PartId dram) {
  const auto all = topology.nics_near(dram);
  NicLoads loads;
  const std::vector<NearNic> peer_nics{{.nic = 0, .per_second = {1'000'000'000'000'000}}};
  std::vector<std::uint32_t> order;
  for (int transfer = 0; transfer < 2'000; ++transfer) {
    NicLoads peer_loads;
    std::vector<Stripe> stripes;
    plan_stripes(64_MiB, {all, loads}, {peer_nics, peer_loads}, StripeRules{}, stripes);
    for (const Stripe& stripe : stripes) {
      if (std::ranges::count(order, stripe.local_nic) == 0) order.push_back(stripe.local_nic);
    }
  }
  return order;
}

TEST(Nics, C8TransfersUseAllOfThemAndTheLocalOnesFirst) {
  // Of ports about as fast as each other: one of 1 or 40 Gbit/s would be done later than those of
  // the other socket, and comes after them.
  MachineNics nics = read_nics(machines / "rdma8");
  std::erase_if(nics.usable, [](const MachineNic& nic) { return nic.per_second < 20_GiB; });
  const Topology topology =
      topology_of(machine_host(read_numa_nodes(machines / "rdma8"), nics, rates));
  for (const PartId dram : topology.parts_of(0, PartKind::dram)) {
    const auto near = topology.nics_near(dram);
    const auto order = order_of_use(topology, dram);
    EXPECT_EQ(order.size(), nics.usable.size()) << topology.name(dram);
    const auto is_local = [&](std::uint32_t number) {
      return std::ranges::find(near, number, &NearNic::nic)->nearness == Nearness::nearest;
    };
    EXPECT_TRUE(std::ranges::is_partitioned(order, is_local)) << topology.name(dram);
    EXPECT_TRUE(is_local(order.front()));
  }
}

TEST(Nics, HaveTheRatesOfTheirLinksAndSlots) {
  const MachineNics nics = read_nics(machines / "rdma8");
  const auto named = [&](std::string_view name) {
    return *std::ranges::find(nics.usable, name, &MachineNic::name);
  };
  // 400 Gbit/s x 4096/4178; 16 lanes of 32 GT/s x 128/130 x 256/280.
  EXPECT_EQ(named("mlx5_0").per_second, Bytes{49'018'669'219});
  EXPECT_EQ(named("mlx5_0").bus_per_second, Bytes{57'614'065'933});
  EXPECT_EQ(named("mlx5_0").numa_node, 0u);
  EXPECT_EQ(named("mlx5_0").address, "0000:18:00.0");
  // One lane of 5 GT/s x 8/10 x 256/280.
  EXPECT_EQ(named("eno1").bus_per_second, Bytes{457'142'857});
  EXPECT_EQ(named("mlx4_0.2").numa_node, 1u);
  // Of a virtual machine the kernel says neither.
  const MachineNics vm = read_nics(machines / "vm");
  EXPECT_FALSE(vm.usable.front().numa_node);
  EXPECT_EQ(vm.usable.front().bus_per_second, Bytes{});
}

TEST(MachineHost, HasASocketForEachNumaNodeAndIsHardwareThatCanBe) {
  for (const char* machine : {"rdma8", "mlx5", "vm", "container", "old-kernel"}) {
    const Hardware hardware{.hosts = {host_of(machine)}, .network = {}};
    const Status checked = check_hardware(hardware);
    EXPECT_TRUE(checked) << machine << ": " << (checked ? "" : checked.error().message());
  }
  const HardwareHost host = host_of("rdma8");
  const auto capacity = [&](std::string_view name) {
    return std::ranges::find(host.parts, name, &HardwarePart::name)->capacity;
  };
  EXPECT_EQ(capacity("dram0"), Bytes{1056497664ull << 10});
  EXPECT_EQ(capacity("dram1"), Bytes{1056964608ull << 10});
  // 400 GB/s of all memory is 200 of each.
  const auto& first = host.links.front();
  EXPECT_EQ(first.between, (std::array<std::string, 2>{"socket0", "dram0"}));
  EXPECT_EQ(first.per_second, Bytes{200'000'000'000});
}

TEST(MachineHost, WithoutAUsableNicHasOneThatCarriesWhatLoopbackDoes) {
  const HardwareHost host = host_of("container");
  const auto nic = std::ranges::find(host.parts, PartKind::nic, &HardwarePart::kind);
  ASSERT_NE(nic, host.parts.end());
  EXPECT_EQ(nic->name, "nic0");
  EXPECT_EQ(nic->per_second, rates.loopback_per_second);
  const auto dram = std::ranges::find(host.parts, PartKind::dram, &HardwarePart::kind);
  EXPECT_EQ(dram->capacity, rates.memory);
}

TEST(MachineHost, NamesThatNoHardwareFileTakesAreChanged) {
  MachineNics nics;
  for (const char* name : {"dram0", "root0", "wär:1", "a b"}) {
    nics.usable.push_back(
        {.name = name, .address = {}, .numa_node = 7, .per_second = {1'000}, .bus_per_second = {}});
  }
  nics.usable.push_back(nics.usable.back());
  nics.usable.back().name = std::string(200, 'x');
  const Status checked = check_hardware({.hosts = {machine_host({}, nics, rates)}, .network = {}});
  EXPECT_TRUE(checked) << (checked ? "" : checked.error().message());
}

TEST(Nics, OfAnEmptyRootThereAreNone) {
  const MachineNics nics = read_nics("/no/such/root");
  EXPECT_TRUE(nics.usable.empty());
  EXPECT_TRUE(nics.excluded.empty());
}

}  // namespace
}  // namespace larder::real
