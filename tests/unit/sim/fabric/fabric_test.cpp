#include "sim/fabric/fabric.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/fabric/topology_rates.h"

namespace larder::sim {

using namespace literals;

namespace {

class Timed final : public Move {
 public:
  Timed(Kernel& kernel, Fabric& fabric, const Plan& plan) : Move(fabric, plan), kernel_(kernel) {
    start();
  }
  std::optional<Duration> took;

 private:
  void finish() override { took = kernel_.now() - begin_; }
  Kernel& kernel_;
  Instant begin_ = kernel_.now();
};

// Two hosts of a preset.
struct World {
  explicit World(std::string_view preset) : World(two(preset)) {}
  explicit World(const Hardware& hardware) : topology(Topology::make(hardware).value()) {}

  static Hardware two(std::string_view preset) {
    Hardware hardware = hardware_preset(preset).value();
    hardware.hosts[0].count = 2;
    return hardware;
  }
  PartId at(std::uint32_t host, std::string_view name) const {
    return topology.find(host, name).value();
  }
  std::unique_ptr<Timed> move(std::string_view from, std::string_view to, Bytes length,
                              Move::Transport transport = Move::Transport::verbs) {
    return std::make_unique<Timed>(
        kernel, fabric,
        Move::Plan{.from = at(0, from), .to = at(1, to), .length = length, .transport = transport});
  }
  Duration latency(std::string_view from, std::uint32_t nic, std::string_view to) const {
    std::vector<EdgeId> path;
    topology.append_inside(at(0, from), topology.nic(0, nic), path);
    topology.append_wire(topology.nic(0, nic), topology.nic(1, nic), 0, path);
    topology.append_inside(topology.nic(1, nic), at(1, to), path);
    return topology.latency(path);
  }

  Topology topology;
  Kernel kernel{1};
  Fabric fabric{kernel, topology, {}};
};

Duration at_rate(Bytes length, double per_second) {
  return Duration(
      static_cast<std::int64_t>(std::ceil(static_cast<double>(length.value) / per_second * 1e9)));
}

const TransferCosts costs;  // the presets' too
constexpr double port_25 = 25e9 / 8 * 4096 / 4178;
constexpr double port_200 = 200e9 / 8 * 4096 / 4178;

void expect_near(std::optional<Duration> took, Duration expected) {
  ASSERT_TRUE(took);
  EXPECT_LE(std::abs((*took - expected).count()), 2) << took->count() << " " << expected.count();
}

TEST(Fabric, AMoveAloneTakesItsCostsItsLatencyAndItsBytesAtTheNarrowestRate) {
  World world("8xh800-8x200");
  const auto move = world.move("gpu2", "dram0", 256_KiB);
  world.kernel.run(1'000);
  expect_near(move->took, costs.posting + world.latency("gpu2", 2, "dram0") +
                              at_rate(256_KiB, port_200) + costs.completion);
  EXPECT_EQ(world.fabric.counters().moved, 256_KiB);
}

TEST(Fabric, ALongMoveIsFasterOnSeveralNics) {
  World world("8xh800-8x200");
  const auto move = world.move("dram0", "dram0", 64_MiB);
  world.kernel.run(1'000);
  ASSERT_TRUE(move->took);
  const auto on_four = at_rate(64_MiB, 4 * port_200);
  EXPECT_GT(*move->took, on_four);
  EXPECT_LT(*move->took, on_four + Duration(10'000));
  EXPECT_EQ(world.fabric.counters().stripes, 16u);
}

TEST(Fabric, TwoMovesShareTheNic) {
  World world("cpu-1x25");
  const auto first = world.move("dram0", "dram0", 512_KiB);
  const auto second = world.move("dram0", "dram0", 512_KiB);
  world.kernel.run(1'000);
  const Duration shared = costs.posting + world.latency("dram0", 0, "dram0") +
                          at_rate(1_MiB, port_25) + costs.completion;
  for (const auto* move : {first.get(), second.get()}) {
    ASSERT_TRUE(move->took);
    EXPECT_LT(std::abs((*move->took - shared).count()), 50);  // a message's turn
  }
}

TEST(Fabric, AMoveThatIsGivenUpLeavesItsPartToTheOthers) {
  World world("cpu-1x25");
  const auto first = world.move("dram0", "dram0", 512_KiB);
  auto second = world.move("dram0", "dram0", 512_KiB);
  const Duration fixed = costs.posting + world.latency("dram0", 0, "dram0");
  world.kernel.run_until(Instant{} + fixed + at_rate(256_KiB, port_25));
  second.reset();
  EXPECT_NEAR(static_cast<double>(world.fabric.counters().moved.value), 128 << 10, 200);
  world.kernel.run(1'000);
  ASSERT_TRUE(first->took);
  const Duration expected = fixed + at_rate(512_KiB + 128_KiB, port_25) + costs.completion;
  EXPECT_LT(std::abs((*first->took - expected).count()), 50);
}

TEST(Fabric, ANicLetsThroughSoManyMessagesASecond) {
  Hardware hardware = World::two("cpu-1x25");
  for (HardwarePart& part : hardware.hosts[0].parts) {
    if (part.kind == PartKind::nic) part.messages_per_second = 1'000;
  }
  World world(hardware);
  std::vector<std::unique_ptr<Timed>> moves;
  for (int i = 0; i < 5; ++i) moves.push_back(world.move("dram0", "dram0", 64_B));
  world.kernel.run(1'000);
  for (std::size_t i = 1; i < moves.size(); ++i) {
    ASSERT_TRUE(moves[i]->took);
    EXPECT_EQ(*moves[i]->took - *moves[i - 1]->took, Duration(1'000'000));
  }
}

TEST(Fabric, OverTcpAStripeIsNoFasterThanAThreadCopies) {
  World world("8xh800-8x200");
  const auto move = world.move("dram0", "dram0", 768_KiB, Move::Transport::tcp);
  world.kernel.run(1'000);
  expect_near(move->took, costs.posting + world.latency("dram0", 0, "dram0") +
                              at_rate(768_KiB, static_cast<double>(costs.tcp_per_second.value)) +
                              costs.completion);
}

TEST(Fabric, InsideAHostAMoveTakesPcieAndNoNic) {
  World world("8xh800-8x200");
  Timed move(world.kernel, world.fabric,
             {.from = world.at(0, "dram0"), .to = world.at(0, "gpu0"), .length = 64_MiB});
  world.kernel.run(1'000);
  std::vector<EdgeId> path;
  world.topology.append_inside(world.at(0, "dram0"), world.at(0, "gpu0"), path);
  const double pcie = static_cast<double>(world.topology.per_second(path).value);
  expect_near(move.took, costs.posting + world.topology.latency(path) + at_rate(64_MiB, pcie) +
                             costs.completion);
  EXPECT_GT(pcie, 2 * port_200);
}

TEST(Fabric, ADegradedEdgeSlowsWhatIsOnIt) {
  World world("cpu-1x25");
  std::vector<EdgeId> wire;
  world.topology.append_wire(world.topology.nic(0, 0), world.topology.nic(1, 0), 0, wire);
  const auto move = world.move("dram0", "dram0", 512_KiB);
  world.fabric.degrade(wire[0], 0.25);
  world.kernel.run(1'000);
  ASSERT_TRUE(move->took);
  EXPECT_GT(*move->took, at_rate(512_KiB, port_25 / 4));
}

TEST(Fabric, WhatIsOnANicThatGoesDownGoesOnOverAnother) {
  World world("cpu-2x100");
  const Bytes length = 256_KiB;
  const auto move = world.move("dram0", "dram0", length);
  const double rate =
      static_cast<double>(world.topology.nics_near(world.at(0, "dram0"))[0].per_second.value);
  const Duration half = at_rate(length, rate) / 2;
  world.kernel.run_until(Instant{} + half);
  EXPECT_FALSE(move->took);
  const std::uint32_t near = world.topology.nics_near(world.at(0, "dram0"))[0].nic;
  world.fabric.set_nic(world.topology.nic(0, near), false);
  EXPECT_EQ(world.fabric.nics_up(0), 1u);
  world.kernel.run(1'000);
  ASSERT_TRUE(move->took);
  EXPECT_GT(*move->took, at_rate(length, rate));
  EXPECT_EQ(world.fabric.counters().moved, length);  // no byte twice
  EXPECT_EQ(world.fabric.counters().stripes, 2u);
  std::vector<EdgeId> wire;
  world.topology.append_wire(world.topology.nic(0, 1 - near), world.topology.nic(1, 1 - near), 0,
                             wire);
  const Bytes over_the_other = world.fabric.moved_over(wire[0]);
  EXPECT_GT(over_the_other, 0_B);
  EXPECT_LT(over_the_other, length);

  // While it is down nothing starts on it; when it is up again, things do.
  const auto second = world.move("dram0", "dram0", length);
  world.kernel.run(1'000);
  EXPECT_EQ(world.fabric.moved_over(wire[0]), over_the_other + length);
  world.fabric.set_nic(world.topology.nic(0, near), true);
  const auto third = world.move("dram0", "dram0", length);
  world.kernel.run(1'000);
  ASSERT_TRUE(third->took);
  EXPECT_EQ(world.fabric.moved_over(wire[0]), over_the_other + length);
}

TEST(Fabric, RegistrationGrowsWithTheMemory) {
  EXPECT_EQ(registration_time(costs, 0_B), costs.registration);
  EXPECT_EQ(registration_time(costs, 1_GiB),
            costs.registration + 1024 * costs.registration_each_mib);
  EXPECT_EQ(registration_time(costs, 512_KiB),
            costs.registration + costs.registration_each_mib / 2);
}

// ---- under the network of the simulated processes -----------------------------------------------

TEST(TopologyRates, GiveTheFlowsOfANetworkTheRatesOfTheHardware) {
  const Topology topology = Topology::make(World::two("cpu-2x100")).value();
  TopologyRates rates(topology);
  rates.add_host({});
  rates.add_host({});
  std::vector<RateModel::FlowRate> changed;
  rates.start(0, {.from = {0}, .to = {1}}, changed);
  ASSERT_EQ(changed.size(), 1u);
  const Bytes port = topology.nics_near(topology.find(0, "dram0").value())[0].per_second;
  EXPECT_EQ(changed[0].per_second, port);
  changed.clear();
  rates.start(1, {.from = {0}, .to = {1}}, changed);
  EXPECT_EQ(changed.size(), 2u);  // both on the one near NIC
  EXPECT_EQ(changed[0].per_second, port / 2);
  changed.clear();
  rates.degrade({0}, 0.5, changed);
  ASSERT_EQ(changed.size(), 2u);
  EXPECT_EQ(changed[1].per_second, port / 4);
  changed.clear();
  rates.end(0, changed);
  ASSERT_EQ(changed.size(), 1u);
  EXPECT_EQ(changed[0].flow, 1u);
  EXPECT_EQ(changed[0].per_second, port / 2);
}

TEST(TopologyRates, ACopyInsideAHostReadsAndWritesItsDram) {
  const Topology topology = Topology::make(World::two("cpu-2x100")).value();
  TopologyRates rates(topology);
  rates.add_host({});
  std::vector<RateModel::FlowRate> changed;
  rates.start(0, {.from = {0}, .to = {0}}, changed);
  ASSERT_EQ(changed.size(), 1u);
  EXPECT_EQ(changed[0].per_second, costs.tcp_per_second);  // one thread
}

}  // namespace
}  // namespace larder::sim
