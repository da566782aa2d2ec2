#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>

#include "tests/unit/real/transport/pool.h"

namespace larder::real {
namespace {

using namespace std::chrono_literals;
using test::Object;
using test::TestNode;
using test::Waiter;

Duration soak_time() {
  const char* seconds = std::getenv("LARDER_SOAK_SECONDS");
  return std::chrono::seconds(seconds != nullptr ? std::strtol(seconds, nullptr, 10) : 2);
}

// One client on a thread of its own: puts and gets, some with deadlines that are too short, some
// given up. Whatever comes is right or an error, and no buffer changes after its call.
class SoakingClient {
 public:
  SoakingClient(const TestNode& node, std::uint64_t number)
      : segment_(node.segment), number_(number), random_(number) {}

  void run(Time until) {
    TcpTransport transport(loop_, {.who = "soak", .connections_per_endpoint = 2});
    while (loop_.now() < until) round(transport);
  }
  std::uint64_t read() const { return read_; }

 private:
  static constexpr std::size_t at_once = 4;
  static constexpr std::size_t size_max = 300'000;

  // The places of the other clients are others.
  Bytes place(std::size_t i) const {
    return Bytes{(number_ * at_once + i) << 19} + Bytes{64 * (puts_ % 4096)};
  }

  void round(TcpTransport& transport) {
    std::vector<std::unique_ptr<Object>> objects;
    for (std::size_t i = 0; i < at_once; ++i) {
      objects.push_back(std::make_unique<Object>(segment_, (number_ << 32) + ++puts_,
                                                 1 + random_.below(size_max), place(i)));
    }
    std::vector<bool> sealed(at_once);
    move(
        transport, [&](std::size_t i) { return Fill{&segment_, {objects[i]->fill()}}; },
        [&](std::size_t i, const Waiter& waiter) {
          sealed[i] = waiter.status && *waiter.status && objects[i]->result;
        });
    std::vector<std::vector<std::byte>> into(at_once, std::vector<std::byte>(size_max));
    move(
        transport,
        [&](std::size_t i) {
          return Read{{objects[i]->read(0_B, Slice(into[i]).first(objects[i]->value.size()))}};
        },
        [&](std::size_t i, const Waiter& waiter) {
          if (!waiter.status || !*waiter.status || !objects[i]->result) return;
          EXPECT_TRUE(std::ranges::equal(objects[i]->into_slice, objects[i]->value));
          ++read_;
        });
    for (auto& buffer : into) std::ranges::fill(buffer, std::byte{0xdd});
    loop_.run_until([] { return false; }, loop_.now() + 200us);
    for (const auto& buffer : into) {
      EXPECT_TRUE(std::ranges::all_of(buffer, [](std::byte b) { return b == std::byte{0xdd}; }));
    }
  }

  template <class Make, class Ended>
  void move(TcpTransport& transport, Make make, Ended ended) {
    std::vector<Waiter> waiters(at_once);
    std::vector<bool> gone(at_once);
    for (std::size_t i = 0; i < at_once; ++i) {
      const Duration time = random_.below(8) == 0 ? 200us : Duration(10s);
      transport.submit(make(i), loop_.now() + time, waiters[i]);
    }
    if (random_.below(4) == 0) {
      loop_.run_until([] { return false; }, loop_.now() + 100us);
      transport.abandon(waiters[0], nullptr);
      gone[0] = !waiters[0].status;
    }
    loop_.run_until(
        [&] {
          for (std::size_t i = 0; i < at_once; ++i) {
            if (!gone[i] && !waiters[i].status) return false;
          }
          return true;
        },
        loop_.now() + 20s);
    for (std::size_t i = 0; i < at_once; ++i) {
      EXPECT_TRUE(gone[i] || waiters[i].status);
      if (!gone[i]) ended(i, waiters[i]);
    }
  }

  const SegmentDescription& segment_;
  const std::uint64_t number_;
  Random random_;
  Loop loop_;
  std::uint64_t puts_ = 0;
  std::uint64_t read_ = 0;
};

// The node's end of all connections is killed again and again, while it moves their bytes.
// LARDER_SOAK_SECONDS makes it longer.
TEST(Soak, A7PutsAndGetsWithPeersKilledAtRandomAreRightOrErrors) {
  Loop loop;
  Loop data_loop;
  TestNode node(loop, data_loop, 64_MiB);
  std::thread data([&] { data_loop.run(); });
  const Time until = loop.now() + soak_time();
  std::vector<std::unique_ptr<SoakingClient>> clients;
  std::vector<std::thread> threads;
  std::atomic<std::size_t> ended = 0;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    clients.push_back(std::make_unique<SoakingClient>(node, i));
    threads.emplace_back([&, client = clients.back().get()] {
      client->run(until);
      ++ended;
    });
  }
  Random random(7);
  while (ended < clients.size()) {
    loop.run_until([&] { return ended == clients.size(); },
                   loop.now() + Duration(random.below(40'000'000)));
    data_loop.post([&] {
      node.server.reset();
      node.server = std::make_unique<TcpServer>(data_loop, *node.host, TcpServerConfig{});
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto idle = [&] {
    const NodeStatus status = node.status();
    return status.fills_in_flight == 0 && status.reads_in_flight == 0;
  };
  loop.run_until(idle, loop.now() + 20s);
  EXPECT_TRUE(idle());
  for (const auto& client : clients) EXPECT_GT(client->read(), 0u);
  data_loop.stop();
  data.join();
}

}  // namespace
}  // namespace larder::real
