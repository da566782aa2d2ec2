#include <gtest/gtest.h>

#include <thread>

#include "tests/pool/pool.h"

namespace larder::sim {
namespace {

// Random operations under faults of most kinds. The explorer does this in earnest; here it shows
// that the world stands it, and does the same for the same seed. The hosts are slow and small, so
// that transfers overlap and space is used again.
class Chaos {
 public:
  explicit Chaos(const WorldConfig& config)
      : pool(config, {.segment = 192_KiB, .nic_per_second = {3'000'000}}),
        random_(pool.world.kernel().random("chaos")) {}

  void run(int rounds) {
    pool.world.network().set_faults(
        {.lose = 0.02, .duplicate = 0.05, .reorder = 0.1, .jitter = 200us});
    for (int round = 0; round < rounds; ++round) {
      operate();
      if (random_.chance(0.1)) disturb();
      pool.world.run_for(Duration(random_.below(100'000'000)));
      if (round % 50 == 0) pool.world.check_invariants();
      if (!pool.witness.violations.empty()) return;
    }
    pool.world.network().set_faults({});
    pool.world.network().heal();
    for (ClientProcess* client : pool.clients) revive(*client);
    for (NodeProcess* node : pool.nodes) revive(*node);
    revive(*pool.master);
    EXPECT_TRUE(pool.world.run_until_idle(120s));
    pool.world.check_invariants();
  }

  Pool pool;

 private:
  template <class Process>
  static void revive(Process& process) {
    process.go_on();
    if (!process.alive()) process.start();
  }

  void operate() {
    ClientProcess& client = *pool.clients[random_.below(pool.clients.size())];
    if (!client.alive()) return client.start();
    const std::string key = "k" + std::to_string(random_.below(12));
    const Bytes size{1 + random_.below(40'000)};
    const auto replicas = 1 + static_cast<std::uint32_t>(random_.below(2));
    switch (random_.below(8)) {
      case 0:
      case 1:
      case 2:
        client.put({{.key = key, .size = size, .replicas = replicas}}, random_.chance(0.3));
        break;
      case 3:
        client.remove({key}, random_.chance(0.5));
        break;
      case 4:
        client.exists({key});
        break;
      default:
        client.get({{.key = key, .room = 40_KiB}});
    }
  }

  void disturb() {
    NodeProcess& node = *pool.nodes[random_.below(pool.nodes.size())];
    ClientProcess& client = *pool.clients[random_.below(pool.clients.size())];
    switch (random_.below(7)) {
      case 0:
        return client.crash();
      case 1:
        return node.crash();
      case 2:
        if (!node.alive()) node.start();
        return;
      case 3:
        pool.master->crash();
        pool.world.run_for(300ms);
        return pool.master->start();
      case 4:
        node.stop();
        pool.world.run_for(Duration(random_.below(3'000'000'000)));
        return node.go_on();
      case 5:
        return pool.world.network().set_blocked({client.host().id, node.host().id}, true);
      default:
        return pool.world.network().heal();
    }
  }

  Random random_;
};

class ChaosTest : public testing::TestWithParam<bool> {
 protected:
  static WorldConfig config(std::uint64_t seed) {
    return {.seed = seed, .transport = {.one_sided = GetParam()}};
  }
};
INSTANTIATE_TEST_SUITE_P(Transports, ChaosTest, testing::Bool(), [](const auto& parameter) {
  return parameter.param ? "OneSided" : "Tcp";
});

TEST_P(ChaosTest, NoFaultMakesAGetWrong) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Chaos chaos(config(seed));
    chaos.run(300);
    EXPECT_TRUE(chaos.pool.witness.violations.empty())
        << "seed " << seed << ": " << chaos.pool.witness.violations.front();
    EXPECT_GT(chaos.pool.witness.values_read, 20u);
  }
}

// The canary: what the guards prevent does happen here, and is seen.
TEST_P(ChaosTest, WithoutGuardsGetsAreWrong) {
  std::uint64_t seeds_that_broke = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    WorldConfig unguarded = config(seed);
    unguarded.guards = {.lease = false,
                        .retirement = false,
                        .overlap = false,
                        .retired_put_ids = false,
                        .writer_waits = false,
                        .footer = false,
                        .checksum = false};
    Chaos chaos(unguarded);
    chaos.run(300);
    seeds_that_broke += !chaos.pool.witness.violations.empty();
  }
  EXPECT_GT(seeds_that_broke, 0u);
}

TEST_P(ChaosTest, TheSameSeedGivesTheSameHashAlsoBesideOtherWorlds) {
  const auto hash_of = [](std::uint64_t seed) {
    Chaos chaos(config(seed));
    chaos.run(100);
    return chaos.pool.world.kernel().hash();
  };
  const std::uint64_t expected = hash_of(5);
  std::uint64_t beside = 0, other = 0;
  std::thread first([&] { beside = hash_of(5); });
  std::thread second([&] { other = hash_of(6); });
  first.join();
  second.join();
  EXPECT_EQ(beside, expected);
  EXPECT_NE(other, expected);
}

}  // namespace
}  // namespace larder::sim
