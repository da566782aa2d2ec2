#include <thread>

#include "tests/contract/ends.h"
#include "tests/contract/moves_bytes.h"
#include "tests/unit/real/transport/pool.h"

namespace larder::real {
namespace {

using namespace std::chrono_literals;
using test::Object;
using test::TestNode;
using test::Waiter;

constexpr Bytes memory = 128_MiB;

// Everything but the transport itself.
class RealWorld : public contract::World {
 public:
  const SegmentDescription& segment() const override { return node->segment; }
  Epoch epoch() const override { return test::epoch; }
  Time now() const override { return loop.now(); }
  bool run_until(const std::function<bool()>& done, Duration time) override {
    loop.run_until(done, loop.now() + time);
    return done();
  }
  void retire(const ExtentName& extent) override {
    node->retire(extent.put_id, extent.location.offset);
  }
  NodeStatus status() override { return node->status(); }
  std::byte& stored(Bytes at) override { return node->host->memory(segment().id)[at.value]; }

 protected:
  Loop loop;
  std::unique_ptr<TestNode> node;
};

class LocalWorld final : public RealWorld {
 public:
  LocalWorld() {
    node = std::make_unique<TestNode>(loop, memory);
    transport_ = std::make_unique<LocalTransport>(loop, *node->host);
  }
  Transport& transport() override { return *transport_; }

 private:
  std::unique_ptr<LocalTransport> transport_;
};

class TcpWorld final : public RealWorld {
 public:
  TcpWorld() {
    node = std::make_unique<TestNode>(loop, memory);
    transport_ = std::make_unique<TcpTransport>(loop, TcpTransportConfig{.who = "test"});
  }
  Transport& transport() override { return *transport_; }

 private:
  std::unique_ptr<TcpTransport> transport_;
};

// The node's bytes have a thread of their own, as in a daemon, and small transfers too are divided
// over several connections.
class ThreadedTcpWorld final : public RealWorld {
 public:
  ThreadedTcpWorld() {
    node = std::make_unique<TestNode>(loop, data_loop_, memory);
    data_thread_ = std::thread([this] { data_loop_.run(); });
    transport_ = std::make_unique<TcpTransport>(
        loop, TcpTransportConfig{.who = "test", .bytes_per_connection_min = 1_KiB});
  }
  ~ThreadedTcpWorld() override {
    transport_.reset();
    data_loop_.stop();
    data_thread_.join();
    node.reset();
  }
  Transport& transport() override { return *transport_; }

 private:
  Loop data_loop_;
  std::thread data_thread_;
  std::unique_ptr<TcpTransport> transport_;
};

template <class Made>
std::unique_ptr<contract::World> make() {
  return std::make_unique<Made>();
}

// The node's loop is another thread's, as in a process with clients.
class FromAnotherThread : public ::testing::Test {
 protected:
  FromAnotherThread() : node(loop, memory) {}

  template <class Mine>
  void put_and_get(Loop& mine, Mine& transport) {
    for (std::uint64_t i = 1; i <= 20; ++i) {
      Object object(node.segment, i, 300'000, Bytes{i << 20});
      std::vector<std::byte> into(object.value.size());
      for (int step = 0; step < 2; ++step) {
        Waiter waiter;
        transport.submit(step == 0 ? Transfer(Fill{&node.segment, {object.fill()}})
                                   : Transfer(Read{{object.read(0_B, into)}}),
                         mine.now() + 20s, waiter);
        mine.run_until([&] { return waiter.status.has_value(); }, mine.now() + 20s);
        EXPECT_TRUE(object.result);
      }
      EXPECT_EQ(into, object.value);
    }
  }
  // work(loop of its thread), while the node's loop runs.
  template <class Work>
  void run(Work work) {
    std::thread other([&] {
      Loop mine;
      work(mine);
      loop.stop();
    });
    loop.run();
    other.join();
  }

  Loop loop;
  TestNode node;
};

TEST_F(FromAnotherThread, LocalWorks) {
  run([this](Loop& mine) {
    LocalTransport transport(mine, *node.host);
    put_and_get(mine, transport);
  });
}

TEST_F(FromAnotherThread, TcpWorks) {
  run([this](Loop& mine) {
    TcpTransport transport(mine, {.who = "other"});
    put_and_get(mine, transport);
  });
}

}  // namespace
}  // namespace larder::real

namespace larder::contract {

INSTANTIATE_TEST_SUITE_P(
    Real, TransportContract,
    ::testing::Values(Kind{.name = "local", .make = real::make<real::LocalWorld>},
                      Kind{.name = "tcp", .make = real::make<real::TcpWorld>},
                      Kind{.name = "tcp_data_thread", .make = real::make<real::ThreadedTcpWorld>}),
    [](const auto& info) { return info.param.name; });

}  // namespace larder::contract
