#include "sim/fabric/connection.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <vector>

#include "sim/fabric/fair_share.h"

namespace larder::sim {
namespace {

using namespace std::chrono_literals;
using End = Connection::End;

class ConnectionTest : public testing::Test {
 protected:
  ConnectionTest() {
    network_.add_host({});
    network_.add_host({});
    connection_ = std::make_shared<Connection>(kernel_, network_, route_,
                                               Connection::Settings{.give_up = 2s});
    connection_->on_close(End::caller, [this] { ++caller_told_; });
    connection_->on_close(End::acceptor, [this] { ++acceptor_told_; });
  }

  void send(End from, int number) {
    connection_->send(from, 100_B, 1, [this, number] { received_.push_back(number); });
  }
  void run() { kernel_.run(~std::uint64_t{0}); }

  Kernel kernel_{21};
  Network network_{kernel_, {}, std::make_unique<FairShare>()};
  const Route route_{HostId{0}, HostId{1}};
  std::shared_ptr<Connection> connection_;
  std::vector<int> received_;
  int caller_told_ = 0;
  int acceptor_told_ = 0;
};

TEST_F(ConnectionTest, OverABadNetworkEachMessageArrivesOnceAndInOrder) {
  network_.set_faults({.lose = 0.3, .duplicate = 0.3, .reorder = 0.5, .jitter = 1ms});
  for (int number = 0; number < 500; ++number) {
    send(End::caller, number);
    kernel_.run_until(kernel_.now() + 100us);
  }
  run();
  std::vector<int> expected(500);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(received_, expected);
  EXPECT_GT(network_.counters().lost, 100u);
}

TEST_F(ConnectionTest, TheOtherEndHearsWhatWasSentBeforeTheCloseAndThenTheClose) {
  network_.set_faults({.lose = 0.5, .reorder = 0.5});
  for (int number = 0; number < 20; ++number) send(End::caller, number);
  connection_->close(End::caller);
  send(End::caller, 99);
  send(End::acceptor, 77);  // nobody listens
  run();
  EXPECT_EQ(received_.size(), 20u);
  EXPECT_EQ(acceptor_told_, 1);
  EXPECT_EQ(caller_told_, 0);
  EXPECT_FALSE(connection_->open(End::acceptor));
}

TEST_F(ConnectionTest, AShortPartitionOnlyDelays) {
  network_.set_blocked(route_, true);
  send(End::caller, 1);
  kernel_.run_until(Instant(1s));
  network_.heal();
  run();
  EXPECT_EQ(received_, std::vector{1});
  EXPECT_EQ(caller_told_ + acceptor_told_, 0);
}

TEST_F(ConnectionTest, ALongPartitionEndsItForTheSenderOnly) {
  network_.set_blocked(route_, true);
  send(End::caller, 1);
  send(End::caller, 2);
  run();
  EXPECT_GE(kernel_.now(), Instant(2s));
  EXPECT_TRUE(received_.empty());
  EXPECT_EQ(caller_told_, 1);
  EXPECT_EQ(acceptor_told_, 0);
  EXPECT_FALSE(connection_->open(End::caller));
  EXPECT_TRUE(connection_->open(End::acceptor));
}

TEST_F(ConnectionTest, NothingIsLeftWhenItHasEnded) {
  const std::weak_ptr<Connection> watched = connection_;
  connection_->close(End::caller);
  connection_.reset();
  EXPECT_FALSE(watched.expired());
  run();
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace larder::sim
