#include "sim/fabric/network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "sim/fabric/fair_share.h"

namespace larder::sim {
namespace {

using namespace std::chrono_literals;

class NetworkTest : public testing::Test {
 protected:
  NetworkTest() {
    for (int host = 0; host < 3; ++host) network_.add_host({.latency = 2us});
  }

  // Sends `count` numbered messages, one each microsecond, and gives them in order of arrival.
  std::vector<int> arrivals_of(int count) {
    std::vector<int> arrived;
    for (int number = 0; number < count; ++number) {
      kernel_.post(kernel_.now() + number * 1us, 1, [this, number, &arrived] {
        network_.send(there_, 64_B, 2, [number, &arrived] { arrived.push_back(number); });
      });
    }
    kernel_.run(~std::uint64_t{0});
    return arrived;
  }

  Kernel kernel_{11};
  Network network_{kernel_, {}, std::make_unique<FairShare>()};
  const Route there_{HostId{0}, HostId{1}};
  const Route back_{HostId{1}, HostId{0}};
};

TEST_F(NetworkTest, AMessageTakesBothLatenciesAndItsTimeOnTheWire) {
  Instant arrived{};
  network_.send(there_, 12'500_B, 1, [&] { arrived = kernel_.now(); });
  kernel_.run(10);
  EXPECT_EQ(arrived, Instant(2us + 2us + 1us));
}

TEST_F(NetworkTest, WithoutReorderingALinkKeepsOrderHoweverMuchItJitters) {
  network_.set_faults({.jitter = 1ms});
  const std::vector<int> arrived = arrivals_of(5000);
  EXPECT_EQ(arrived.size(), 5000u);
  EXPECT_TRUE(std::ranges::is_sorted(arrived));
}

TEST_F(NetworkTest, LossDuplicationAndReorderingComeAtTheirRates) {
  constexpr int count = 20'000;
  network_.set_faults({.lose = 0.1, .duplicate = 0.05, .reorder = 0.2, .disorder = 1ms});
  std::vector<int> arrived = arrivals_of(count);
  const Network::Counters& counters = network_.counters();
  // Five standard deviations of a binomial of 20,000.
  EXPECT_NEAR(static_cast<double>(counters.lost), 0.1 * count, 215);
  EXPECT_NEAR(static_cast<double>(counters.duplicated), 0.05 * count, 155);
  EXPECT_NEAR(static_cast<double>(counters.reordered), 0.2 * 0.9 * count, 275);
  EXPECT_EQ(arrived.size(), counters.delivered);
  EXPECT_EQ(counters.delivered, count - counters.lost + counters.duplicated);
  int overtaken = 0;
  for (std::size_t place = 1; place < arrived.size(); ++place) {
    overtaken += arrived[place] < arrived[place - 1];
  }
  EXPECT_GT(overtaken, count / 10);
  std::ranges::sort(arrived);
  const auto repeated = std::ranges::unique(arrived);
  EXPECT_LE(repeated.size(), counters.duplicated);
  EXPECT_GT(repeated.size(), counters.duplicated / 2);
}

TEST_F(NetworkTest, ABlockedRouteLosesMessagesInOneDirectionAlsoThoseOnTheirWay) {
  int there = 0, back = 0;
  network_.send(there_, 64_B, 1, [&] { ++there; });
  network_.set_blocked(there_, true);
  network_.send(there_, 64_B, 1, [&] { ++there; });
  network_.send(back_, 64_B, 1, [&] { ++back; });
  kernel_.run(10);
  EXPECT_EQ(there, 0);
  EXPECT_EQ(back, 1);
  EXPECT_EQ(network_.counters().blocked, 2u);
}

TEST_F(NetworkTest, AnIsolatedHostReachesNobodyUntilTheNetworkHeals) {
  const std::array island{HostId{2}};
  network_.isolate(island);
  int arrived = 0;
  const auto send_all = [&] {
    for (std::uint32_t from = 0; from < 3; ++from) {
      for (std::uint32_t to = 0; to < 3; ++to) {
        network_.send({HostId{from}, HostId{to}}, 64_B, 1, [&] { ++arrived; });
      }
    }
    kernel_.run(100);
  };
  send_all();
  EXPECT_EQ(arrived, 5);  // 0 and 1 among each other and themselves, 2 with itself
  network_.heal();
  send_all();
  EXPECT_EQ(arrived, 14);
}

class Download final : public Flow {
 public:
  Download(Kernel& kernel, Network& network, const Plan& plan)
      : Flow(network, plan), kernel_(kernel) {}

  std::vector<Bytes> offsets;
  std::vector<Instant> times;
  Bytes total;
  Instant end = instant_never;

 private:
  void copy(Bytes offset, Bytes length) override {
    offsets.push_back(offset);
    times.push_back(kernel_.now());
    total += length;
  }
  void corrupt(Bytes) override {}
  void finish() override { end = kernel_.now(); }
  Kernel& kernel_;
};

TEST_F(NetworkTest, AFlowTakesLatencyPlusSizeOverBandwidthAndArrivesChunkByChunkInAnyOrder) {
  Download flow(kernel_, network_, {.route = there_, .length = 125'000_B});
  flow.start();
  kernel_.run(1000);
  EXPECT_NEAR(static_cast<double>(flow.end.time_since_epoch().count()), 14'000, 40);
  EXPECT_EQ(flow.total, 125'000_B);
  ASSERT_EQ(flow.offsets.size(), 31u);
  EXPECT_FALSE(std::ranges::is_sorted(flow.offsets));
  EXPECT_TRUE(std::ranges::is_sorted(flow.times));
  EXPECT_LT(flow.times.front() + 9us, flow.times.back());
  std::ranges::sort(flow.offsets);
  EXPECT_EQ(std::ranges::adjacent_find(flow.offsets), flow.offsets.end());
}

TEST_F(NetworkTest, AnUnshuffledFlowArrivesInOrder) {
  Download flow(kernel_, network_, {.route = there_, .length = 125'000_B, .shuffled = false});
  flow.start();
  kernel_.run(1000);
  EXPECT_EQ(flow.total, 125'000_B);
  EXPECT_TRUE(std::ranges::is_sorted(flow.offsets));
}

TEST_F(NetworkTest, FlowsShareANicAndTheRestSpeedsUpWhenOneEnds) {
  // Alone: 10 us for 125,000 bytes. The short one ends after 20 us at half speed; then 10 us of the
  // long one's bytes are moved and the other 20 us' worth go at full speed.
  Download brief(kernel_, network_, {.route = there_, .length = 125'000_B});
  Download longer(kernel_, network_, {.route = {HostId{0}, HostId{2}}, .length = 375'000_B});
  brief.start();
  longer.start();
  kernel_.run(1000);
  EXPECT_NEAR(static_cast<double>(brief.end.time_since_epoch().count()), 24'000, 100);
  EXPECT_NEAR(static_cast<double>(longer.end.time_since_epoch().count()), 44'000, 200);
}

TEST_F(NetworkTest, ADestroyedFlowCopiesNothingMoreAndFreesItsShare) {
  Download kept(kernel_, network_, {.route = there_, .length = 125'000_B});
  {
    Download dropped(kernel_, network_, {.route = there_, .length = 125'000'000_B});
    kept.start();
    dropped.start();
    kernel_.run_until(Instant(14us));  // half of `kept`
  }
  kernel_.run(1000);
  EXPECT_NEAR(static_cast<double>(kept.end.time_since_epoch().count()), 19'000, 100);
}

TEST_F(NetworkTest, AFlowWaitsWhileItsRouteIsBlockedOrItIsPausedAndSlowsOnADegradedNic) {
  Download flow(kernel_, network_, {.route = there_, .length = 125'000_B});
  flow.start();
  kernel_.run_until(Instant(9us));
  network_.set_blocked(there_, true);
  kernel_.run_until(Instant(109us));
  EXPECT_FALSE(flow.ended());
  flow.pause();
  network_.heal();
  kernel_.run_until(Instant(209us));
  EXPECT_FALSE(flow.ended());
  flow.resume();
  network_.degrade(HostId{1}, 0.1);
  kernel_.run(1000);
  EXPECT_NEAR(static_cast<double>(flow.end.time_since_epoch().count()), 209'000 + 50'000, 200);
  EXPECT_EQ(flow.total, 125'000_B);
}

TEST_F(NetworkTest, AnEmptyFlowEndsAfterTheLatency) {
  Download flow(kernel_, network_, {.route = there_});
  flow.start();
  kernel_.run(10);
  EXPECT_EQ(flow.end, Instant(4us));
  EXPECT_TRUE(flow.offsets.empty());
}

// Everything at once, twice.
TEST(Network, TheSameSeedGivesTheSameHash) {
  const auto hash_of = [](std::uint64_t seed) {
    Kernel kernel(seed);
    Network network(kernel, {}, std::make_unique<FairShare>());
    for (int host = 0; host < 4; ++host) network.add_host({});
    network.set_faults({.lose = 0.1, .duplicate = 0.1, .reorder = 0.3, .jitter = 10us});
    Random random = kernel.random("load");
    std::vector<std::unique_ptr<Download>> flows;
    for (int round = 0; round < 300; ++round) {
      const Route route{HostId{static_cast<std::uint32_t>(random.below(4))},
                        HostId{static_cast<std::uint32_t>(random.below(4))}};
      network.send(route, {random.below(1000)}, 1,
                   [&kernel, round] { kernel.note(static_cast<std::uint64_t>(round)); });
      flows.push_back(std::make_unique<Download>(
          kernel, network, Flow::Plan{.route = route, .length = {random.below(100'000)}}));
      flows.back()->start();
      if (random.chance(0.1)) flows[random.below(flows.size())]->pause();
      if (random.chance(0.1)) network.set_blocked(route, true);
      if (random.chance(0.1)) network.heal();
      kernel.run_until(kernel.now() + Duration(random.below(5000)));
    }
    network.heal();
    for (const auto& flow : flows) flow->resume();
    kernel.run(~std::uint64_t{0});
    for (const auto& flow : flows) {
      EXPECT_TRUE(flow->ended());
      EXPECT_EQ(flow->total, flow->length());
    }
    return kernel.hash();
  };
  EXPECT_EQ(hash_of(3), hash_of(3));
  EXPECT_NE(hash_of(3), hash_of(4));
}

TEST(Network, ReportsItsSpeed) {
  Kernel kernel(1);
  Network network(kernel, {}, std::make_unique<FairShare>());
  for (int host = 0; host < 8; ++host) network.add_host({});
  std::vector<std::unique_ptr<Download>> flows;
  for (std::uint32_t number = 0; number < 64; ++number) {
    flows.push_back(std::make_unique<Download>(
        kernel, network,
        Flow::Plan{.route = {HostId{number % 8}, HostId{number / 8}}, .length = 16_MiB}));
    flows.back()->start();
  }
  const auto begin = std::chrono::steady_clock::now();
  const std::uint64_t fired = kernel.run(~std::uint64_t{0});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(fired, 64u * 4096 + 64);
  std::printf("%.1f million chunks per second\n", static_cast<double>(fired) / took.count() / 1e6);
}

}  // namespace
}  // namespace larder::sim
