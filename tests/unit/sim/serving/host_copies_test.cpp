#include "sim/serving/host_copies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "tests/unit/sim/serving/engine_world.h"

namespace larder::sim {

using namespace literals;

namespace {

using Direction = HostCopies::Direction;
using testing::ElementsAre;
using testing::Pair;

struct CopyWorld : HostCopies::Owner {
  CopyWorld() {
    Hardware hardware = hardware_preset("8xh800-8x200").value();
    hardware.hosts[0].count = 1;
    topology.emplace(Topology::make(hardware).value());
    fabric.emplace(kernel, *topology, StripeRules());
  }
  PartId gpu(std::string_view name) const { return topology->find(0, name).value(); }
  void copied(Direction direction, std::uint32_t number) override {
    if (direction == Direction::to_gpu) to_gpu.emplace_back(number, kernel.now() - Instant{});
    if (direction == Direction::to_host) to_host.emplace_back(number, kernel.now() - Instant{});
  }

  Kernel kernel{1};
  std::optional<Topology> topology;
  std::optional<Fabric> fabric;
  std::vector<std::pair<std::uint32_t, Duration>> to_gpu;
  std::vector<std::pair<std::uint32_t, Duration>> to_host;
};

// PCIe 5.0 x16, which two GPUs below one switch share on its way up.
constexpr double pcie = 32e9 * 16 / 8 * 128 / 130 * 256 / 280;

double seconds(Duration time) { return static_cast<double>(time.count()) / 1e9; }

TEST(HostCopies, TwoGpusBelowOneSwitchShareItsWayUp) {
  CopyWorld world;
  HostCopies alone(world.kernel, &*world.fabric, {world.gpu("gpu0")}, 1_MiB, world);
  (void)alone.begin(Direction::to_gpu, 512);
  world.kernel.run(1'000);
  const double one = seconds(world.to_gpu.back().second);
  EXPECT_NEAR(one, 512 * (1_MiB).value / pcie, 1e-5);

  CopyWorld shared;
  HostCopies both(shared.kernel, &*shared.fabric, {shared.gpu("gpu0"), shared.gpu("gpu1")}, 1_MiB,
                  shared);
  (void)both.begin(Direction::to_gpu, 512);
  shared.kernel.run(1'000);
  EXPECT_NEAR(seconds(shared.to_gpu.back().second), 2 * one, 1e-5);
}

TEST(HostCopies, BothDirectionsGoAtOnce) {
  CopyWorld world;
  HostCopies copies(world.kernel, &*world.fabric, {world.gpu("gpu0")}, 1_MiB, world);
  (void)copies.begin(Direction::to_gpu, 512);
  (void)copies.begin(Direction::to_host, 512);
  world.kernel.run(1'000);
  EXPECT_NEAR(seconds(world.to_gpu.back().second), 512 * (1_MiB).value / pcie, 1e-5);
  EXPECT_NEAR(seconds(world.to_host.back().second), 512 * (1_MiB).value / pcie, 1e-5);
}

TEST(HostCopies, WhatIsAskedForMeanwhileBecomesOneCopy) {
  CopyWorld world;
  HostCopies copies(world.kernel, &*world.fabric, {world.gpu("gpu0")}, 1_MiB, world);
  EXPECT_EQ(copies.begin(Direction::to_gpu, 100), 1);
  EXPECT_EQ(copies.begin(Direction::to_gpu, 100), 2);
  EXPECT_EQ(copies.begin(Direction::to_gpu, 200), 3);
  EXPECT_EQ(copies.ended(Direction::to_gpu), 0);
  world.kernel.run(1'000);
  ASSERT_EQ(world.to_gpu.size(), 2);
  EXPECT_EQ(world.to_gpu[0].first, 1);
  EXPECT_EQ(world.to_gpu[1].first, 3);
  EXPECT_NEAR(seconds(world.to_gpu[1].second - world.to_gpu[0].second), 300 * (1_MiB).value / pcie,
              1e-5);
  EXPECT_EQ(copies.ended(Direction::to_gpu), 3);
  EXPECT_EQ(world.fabric->counters().moves, 2);
}

TEST(HostCopies, WhatIsDroppedIsNotTold) {
  CopyWorld world;
  HostCopies copies(world.kernel, &*world.fabric, {world.gpu("gpu0")}, 1_MiB, world);
  (void)copies.begin(Direction::to_gpu, 100);
  (void)copies.begin(Direction::to_gpu, 100);
  copies.drop();
  world.kernel.run(1'000);
  EXPECT_TRUE(world.to_gpu.empty());
  EXPECT_EQ(copies.begin(Direction::to_gpu, 1), 3);
  world.kernel.run(1'000);
  EXPECT_EQ(world.to_gpu.size(), 1);
}

TEST(HostCopies, AGpusPartLiesInTheNearestDram) {
  const CopyWorld world;
  EXPECT_EQ(world.topology->name(HostCopies::nearest_dram(*world.topology, world.gpu("gpu1"))),
            "host0/dram0");
  EXPECT_EQ(world.topology->name(HostCopies::nearest_dram(*world.topology, world.gpu("gpu7"))),
            "host0/dram1");
}

// Pages of 1 MiB on an engine that computes in no time: what is on the host delays the first token
// by its copy, and then by the last layer.
TEST(CachedEngine, APassEndsALayerAfterTheLastOfItsKvIsThere) {
  CopyWorld copies;
  ServingShape shape = tiny_shape(0);
  shape.model.layers = 4;
  shape.gpu.fp16_flops = 1e15;
  shape.gpu.memory_per_second = Bytes{1'000'000'000'000'000};
  shape.gpu.memory = Bytes{200'000'000};
  shape.costs.each_pass = Duration(1'000);
  EngineWorld told;
  const Compute compute = Compute::make(shape).value();
  ASSERT_EQ(compute.kv_bytes_each_gpu(), 128_B);
  CachedEngineConfig config = EngineWorld::plain();
  config.page_tokens = 1 << 20;  // 128 MiB: one on the GPUs
  config.chunk_tokens = 1 << 30;
  config.host_memory = 1_GiB;
  shape.model.context_tokens = 1 << 30;
  const Compute large = Compute::make(shape).value();
  const auto engine = CachedEngine::make(
      copies.kernel, large, config,
      {.fabric = &*copies.fabric, .gpus = {copies.gpu("gpu0")}, .drams = {}}, nullptr, told);
  const auto serve = [&](std::uint64_t id) {
    ServedRequest request;
    request.blocks = {id};
    request.record = {.input_tokens = 1 << 20, .arrival = copies.kernel.now(), .blocks = 1};
    (*engine)->submit(request);
    copies.kernel.run(10'000);
    return request.record;
  };
  (void)serve(1);
  (void)serve(2);
  const RequestRecord record = serve(1);
  EXPECT_EQ(record.host_hits, 1);
  Pass last_token;
  last_token.add_prompt(1, (1 << 20) - 1);
  const double pass = seconds(large.time(last_token));
  const double copy = 128 * (1_MiB).value / pcie;
  ASSERT_LT(pass, copy / 10);
  EXPECT_NEAR(seconds(record.ttft().value()), copy + pass / 4, 5e-6);
}

}  // namespace
}  // namespace larder::sim
