#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "sim/fabric/fabric.h"

namespace larder::sim {

using namespace literals;

namespace {

constexpr double core = 1e9;  // bytes that one copies in a second

// One host whose cores copy a byte a nanosecond.
struct World {
  explicit World(std::uint32_t cores) : topology(Topology::make(host(cores)).value()) {}
  static Hardware host(std::uint32_t cores) {
    Hardware hardware = hardware_preset("cpu-2x100").value();
    hardware.hosts[0].count = 1;
    hardware.hosts[0].cores = cores;
    hardware.hosts[0].costs = {.posting = Duration(0),
                               .completion = Duration(0),
                               .tcp_per_second = {static_cast<std::uint64_t>(core)}};
    return hardware;
  }
  PartId memory() const { return topology.parts_of(0, PartKind::dram)[0]; }
  void run() { kernel.run(100'000); }

  Topology topology;
  Kernel kernel{1};
  Fabric fabric{kernel, topology, {}};
};

class Job final : public Work {
 public:
  Job(World& world, ThreadsId threads, Duration time)
      : Work(world.fabric, threads), kernel_(world.kernel) {
    start(time);
  }
  std::optional<Duration> ended;

 private:
  void finish() override { ended = kernel_.now() - Instant{}; }
  Kernel& kernel_;
};

class Copy final : public Move {
 public:
  Copy(World& world, Bytes length, ThreadsId sender, ThreadsId receiver)
      : Move(world.fabric, {.from = world.memory(),
                            .to = world.memory(),
                            .length = length,
                            .transport = Transport::tcp,
                            .sender = sender,
                            .receiver = receiver}),
        kernel_(world.kernel) {
    start();
  }
  std::optional<Duration> ended;

 private:
  void finish() override { ended = kernel_.now() - Instant{}; }
  Kernel& kernel_;
};

void expect_near(std::optional<Duration> ended, std::int64_t nanoseconds) {
  ASSERT_TRUE(ended);
  EXPECT_NEAR(static_cast<double>(ended->count()), static_cast<double>(nanoseconds), 5);
}

TEST(Cores, WorkAloneTakesItsTime) {
  World world(2);
  const Job job(world, world.fabric.add_threads(0, 1), Duration(1'000));
  world.run();
  expect_near(job.ended, 1'000);
}

TEST(Cores, OneProcessIsNoFasterThanItsThreads) {
  World world(4);
  const ThreadsId one = world.fabric.add_threads(0, 1);
  const ThreadsId two = world.fabric.add_threads(0, 2);
  const Job a(world, one, Duration(1'000));
  const Job b(world, one, Duration(1'000));
  const Job c(world, two, Duration(1'000));
  const Job d(world, two, Duration(1'000));
  world.run();
  expect_near(a.ended, 2'000);
  expect_near(b.ended, 2'000);
  expect_near(c.ended, 1'000);
  expect_near(d.ended, 1'000);
}

TEST(Cores, AreSharedByAllProcessesOfAHost) {
  World world(2);
  std::vector<std::unique_ptr<Job>> jobs;
  for (int i = 0; i < 4; ++i) {
    jobs.push_back(std::make_unique<Job>(world, world.fabric.add_threads(0, 1), Duration(1'000)));
  }
  world.run();
  for (const auto& job : jobs) expect_near(job->ended, 2'000);
}

TEST(Cores, AStreamInsideAHostNeedsOneAtEachEnd) {
  for (const auto& [cores, nanoseconds] : {std::pair{1u, 2'000}, {2u, 1'000}, {8u, 1'000}}) {
    World world(cores);
    const ThreadsId sender = world.fabric.add_threads(0, 1);
    const ThreadsId receiver = world.fabric.add_threads(0, 1);
    const Copy copy(world, 1'000_B, sender, receiver);
    world.run();
    expect_near(copy.ended, nanoseconds);
  }
}

TEST(Cores, WorkAndStreamsShareThem) {
  World world(1);
  const ThreadsId sender = world.fabric.add_threads(0, 1);
  const ThreadsId receiver = world.fabric.add_threads(0, 1);
  const Copy copy(world, 1'000_B, sender, receiver);
  const Job job(world, world.fabric.add_threads(0, 1), Duration(500));
  // Three that want the core: the work is done after three times its own time, and the copy, which
  // has had a third of the core for each end until then, has the half for itself from there on.
  world.run();
  expect_near(job.ended, 1'500);
  expect_near(copy.ended, 2'500);
}

TEST(Cores, WorkThatIsStoppedMakesRoom) {
  World world(1);
  const ThreadsId threads = world.fabric.add_threads(0, 2);
  auto stopped = std::make_unique<Job>(world, threads, Duration(1'000));
  const Job job(world, threads, Duration(1'000));
  world.kernel.run_until(Instant{} + Duration(1'000));  // each has had half
  EXPECT_TRUE(stopped->under_way());
  stopped.reset();
  world.run();
  expect_near(job.ended, 1'500);
}

TEST(Cores, WorkMayBeginAgainFromItsEnd) {
  class Twice final : public Work {
   public:
    Twice(Fabric& fabric, ThreadsId threads) : Work(fabric, threads) { start(Duration(100)); }
    int ends = 0;

   private:
    void finish() override {
      EXPECT_FALSE(under_way());
      if (++ends < 2) start(Duration(100));
    }
  };
  World world(1);
  const Twice twice(world.fabric, world.fabric.add_threads(0, 1));
  world.run();
  EXPECT_EQ(twice.ends, 2);
  EXPECT_EQ(world.kernel.now() - Instant{}, Duration(200));
}

}  // namespace
}  // namespace larder::sim
