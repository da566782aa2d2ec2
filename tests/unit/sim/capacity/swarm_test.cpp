// Random engines that ask, give up and ask again from inside of what they are told, under random
// faults. Whatever happens, each operation that is not given up ends once the faults do, every page
// is counted once, and the pool works afterwards.
#include <gtest/gtest.h>

#include <deque>

#include "sim/capacity/pool_faults.h"
#include "tests/unit/sim/capacity/pool_world.h"

namespace larder::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using namespace literals;

class Engine final : Event, PagePool::Lookup, PagePool::Read, PagePool::Put {
 public:
  Engine(PoolWorld& world, std::uint32_t host, Random random)
      : Event(1), world_(world), host_(host), random_(random) {
    world.kernel.arm_in(*this, Duration(0));
  }
  ~Engine() override = default;
  std::uint64_t ended_operations = 0;
  bool at_rest() const { return doing_ == Doing::nothing; }
  void stop() { stopping_ = true; }

 private:
  enum class Doing : std::uint8_t { nothing, looking_up, reading, putting };

  void fire() override {
    if (doing_ != Doing::nothing) {
      give_up();
    }
    begin();
  }
  void begin() {
    doing_ = Doing::nothing;
    world_.kernel.cancel(*this);
    if (stopping_) return;
    const std::uint64_t chat = random_.below(12);
    pages_ = PoolWorld::chain(1 + chat * 100, 1 + random_.below(20));
    const PartId memory = world_.memory(host_);
    switch (random_.below(3)) {
      case 0:
        doing_ = Doing::looking_up;
        world_.pool->look_up(memory, pages_, *this);
        break;
      case 1:
        doing_ = Doing::reading;
        arrived_.assign(pages_.size(), false);
        world_.pool->read(memory, pages_, *this);
        break;
      default:
        doing_ = Doing::putting;
        world_.pool->put(memory, pages_, *this);
    }
    // Sometimes it loses patience.
    if (random_.chance(0.3)) {
      world_.kernel.arm_in(*this,
                           microseconds(1 + random_.below(random_.chance(0.5) ? 60 : 20'000)));
    }
  }
  void give_up() {
    switch (doing_) {
      case Doing::looking_up:
        return world_.pool->give_up(static_cast<PagePool::Lookup&>(*this));
      case Doing::reading:
        return world_.pool->give_up(static_cast<PagePool::Read&>(*this));
      case Doing::putting:
        return world_.pool->give_up(static_cast<PagePool::Put&>(*this));
      case Doing::nothing:
        return;
    }
  }
  void over(Doing what) {
    ASSERT_EQ(doing_, what);
    ++ended_operations;
    if (random_.chance(0.2)) {  // it thinks
      doing_ = Doing::nothing;
      world_.kernel.arm_in(*this, milliseconds(random_.below(200)));
    } else {
      begin();
    }
  }
  void found(std::size_t leading, MissReason) override {
    ASSERT_LE(leading, pages_.size());
    over(Doing::looking_up);
  }
  void arrived(std::size_t index) override {
    ASSERT_EQ(doing_, Doing::reading);
    ASSERT_FALSE(arrived_.at(index));
    arrived_[index] = true;
    if (random_.chance(0.02)) {
      give_up();
      begin();
    }
  }
  void ended(MissReason) override { over(Doing::reading); }
  void ended() override { over(Doing::putting); }

  PoolWorld& world_;
  const std::uint32_t host_;
  Random random_;
  bool stopping_ = false;
  Doing doing_ = Doing::nothing;
  std::vector<PoolPage> pages_;
  std::vector<bool> arrived_;
};

std::vector<PoolFault> some_faults(PoolWorld& world, Random& random, bool with_fabric) {
  std::vector<PoolFault> faults;
  for (std::uint64_t i = random.below(8); i > 0; --i) {
    PoolFault fault{.kind = static_cast<PoolFault::Kind>(random.below(4)),
                    .node = static_cast<std::uint32_t>(random.below(world.pool->nodes())),
                    .at = Instant{} + milliseconds(random.below(60'000)),
                    .lasts = milliseconds(1 + random.below(random.chance(0.5) ? 500 : 40'000))};
    if (fault.kind == PoolFault::Kind::nic) {
      if (!with_fabric) continue;
      fault.nic =
          world.topology.nic(static_cast<std::uint32_t>(random.below(world.topology.hosts())),
                             static_cast<std::uint32_t>(random.below(2)));
    }
    faults.push_back(fault);
  }
  return faults;
}

std::uint64_t run(std::uint64_t seed) {
  Random random(seed);
  const bool with_fabric = random.chance(0.6);
  MasterConfig master;
  master.policy = random.chance(0.5) ? "lru" : "leaf-first";
  const std::vector<Bytes> objects = random.chance(0.3) ? std::vector<Bytes>{{300'000}}
                                     : random.chance(0.5)
                                         ? std::vector<Bytes>{{100'000}, {200'000}}
                                         : std::vector<Bytes>{{300'000}, {300'000}};
  PoolWorld world({.engines = 3,
                   .nodes = static_cast<std::uint32_t>(1 + random.below(4)),
                   .with_fabric = with_fabric,
                   .capacity = Bytes{(1 + random.below(60)) * 700'032},
                   .objects = objects,
                   .replicas = static_cast<std::uint32_t>(1 + random.below(3)),
                   .master = master,
                   .batch_pages = static_cast<std::uint32_t>(1 + random.below(8)),
                   .preset = "cpu-2x100"});
  const auto plan = some_faults(world, random, with_fabric);
  EXPECT_TRUE(PoolFaults::check(plan, world.topology, *world.pool));
  const PoolFaults faults(world.kernel, *world.pool, plan);
  std::deque<Engine> engines;
  for (std::uint32_t i = 0; i < 5; ++i) engines.emplace_back(world, i % 3, random.fork(i));
  // A part of the time is enough of an engine that never thinks.
  for (int second = 0; second < 110; second += 10) {
    world.kernel.run_until(Instant{} + seconds(second));
    for (int i = 0; i < 3; ++i) world.kernel.run(700);
  }
  for (Engine& engine : engines) engine.stop();
  world.kernel.run_until(Instant{} + seconds(200));
  std::uint64_t ended = 0;
  for (const Engine& engine : engines) {
    EXPECT_TRUE(engine.at_rest());
    ended += engine.ended_operations;
  }
  EXPECT_GT(ended, 0u);
  const PoolGauges gauges = world.pool->gauges();
  EXPECT_EQ(gauges.reachable_nodes, world.pool->nodes());
  EXPECT_EQ(gauges.capacity,
            Bytes{gauges.reachable_nodes * world.pool->config().nodes[0].capacity.value});
  EXPECT_EQ(gauges.reads.asked, gauges.reads.came + gauges.reads.misses());
  EXPECT_EQ(gauges.lookups.asked, gauges.lookups.came + gauges.lookups.misses());
  const PutCounts& puts = gauges.puts;
  EXPECT_EQ(puts.asked, puts.stored + puts.there + puts.refused + puts.fragmented + puts.given_up);
  EXPECT_EQ(gauges.waiting_puts, 0u);
  EXPECT_EQ(gauges.quarantined, 0_B);
  world.pool->master().machine()->check_invariants();
  for (PageNumber page = 0; page < world.pool->book().pages(); ++page) {
    EXPECT_FALSE(world.pool->book().under_way(page));
  }
  const auto fresh = PoolWorld::chain(100'000, 1);
  world.put(fresh);
  EXPECT_EQ(world.read(fresh).pages.size(), 1u);
  world.kernel.note(gauges.reads.came);
  return world.kernel.hash();
}

class Swarm : public testing::TestWithParam<std::uint64_t> {};
TEST_P(Swarm, EverythingEndsAndIsCountedOnce) {
  for (std::uint64_t seed = GetParam() * 4; seed < (GetParam() + 1) * 4; ++seed) {
    SCOPED_TRACE(seed);
    run(seed);
    if (HasFailure()) return;
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, Swarm, testing::Range<std::uint64_t>(0, 4));

TEST(SwarmOfOne, TheSameSeedIsTheSameWorld) { EXPECT_EQ(run(5), run(5)); }

}  // namespace
}  // namespace larder::sim
