#include "real/rpc/unfinished_frames.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>

#include "tests/unit/real/rpc/harness.h"

namespace larder::real {
namespace {

struct Peer final : UnfinishedFrames::Connection {
  void give_up(Error why) override { given_up = why.facts().detail; }
  std::string given_up;
};

TEST(UnfinishedFrames, WhileThereIsRoomNobodyIsGivenUp) {
  UnfinishedFrames frames(100);
  Peer a, b;
  frames.hold(a, 60, Time(0s), Time(0s));
  frames.hold(b, 40, Time(0s), Time(9s));
  frames.release(a);
  frames.hold(b, 100, Time(0s), Time(10s));
  EXPECT_EQ(frames.bytes(), 100u);
  EXPECT_EQ(a.given_up + b.given_up, "");
  frames.release(b);
  frames.release(b);
  EXPECT_EQ(frames.bytes(), 0u);
  EXPECT_EQ(frames.given_up(), 0u);
}

TEST(UnfinishedFrames, TheOneThatHoldsTheMostForTheLongestGoes) {
  UnfinishedFrames frames(100);
  Peer old_and_small, large, fresh;
  frames.hold(old_and_small, 5, Time(0s), Time(0s));
  frames.hold(large, 90, Time(8s), Time(8s));
  frames.hold(fresh, 20, Time(10s), Time(10s));
  EXPECT_EQ(old_and_small.given_up, "");
  EXPECT_EQ(fresh.given_up, "");
  EXPECT_NE(large.given_up.find("more than 100 bytes together, its own 90"), std::string::npos)
      << large.given_up;
  EXPECT_EQ(frames.bytes(), 25u);
  EXPECT_EQ(frames.given_up(), 1u);
}

TEST(UnfinishedFrames, OfThoseThatBeginNowTheLargestGoes) {
  UnfinishedFrames frames(100);
  Peer small, large;
  frames.hold(small, 40, Time(1s), Time(1s));
  frames.hold(large, 70, Time(1s), Time(1s));
  EXPECT_EQ(small.given_up, "");
  EXPECT_NE(large.given_up, "");
}

TEST(UnfinishedFrames, WhoeverIsGivenUpMayReleaseInTurn) {
  struct Closes final : UnfinishedFrames::Connection {
    explicit Closes(UnfinishedFrames& f) : frames(f) {}
    void give_up(Error) override { frames.release(*this); }
    UnfinishedFrames& frames;
  };
  UnfinishedFrames frames(10);
  Closes one(frames);
  frames.hold(one, 11, Time(0s), Time(0s));
  EXPECT_EQ(frames.bytes(), 0u);
}

// A frame of an Exists that is at least as long.
std::string long_question(std::size_t bytes) {
  const std::string key(1000, 'y');
  Exists body;
  for (std::size_t size = 0; size < bytes; size += key.size()) body.items.push_back({key});
  std::string frame = open_frame();
  encode(Request{.body = body}, frame);
  EXPECT_TRUE(close_frame(FrameKind::request, 1, frame));
  return frame;
}

// Sends as the other side takes it.
struct Sender {
  Sender(const Endpoint& endpoint, std::string bytes)
      : peer(endpoint), left(hello_for_control() + std::move(bytes)) {}
  void go_on() {
    const ssize_t n =
        ::send(peer.descriptor(), left.data(), left.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) left.erase(0, static_cast<std::size_t>(n));
  }
  RawPeer peer;
  std::string left;
};

TEST_F(LinkTest, PeersThatDoNotEndTheirFramesMakeWayForOneThatDoes) {
  constexpr std::size_t most = 1 << 20;
  FakeMaster master(loop, {.unfinished_bytes_max = most});
  const std::string frame = long_question(most / 2);
  std::deque<Sender> halves;
  for (int i = 0; i < 10; ++i) {
    halves.emplace_back(master.listener->endpoint(), frame.substr(0, frame.size() - 1));
  }
  // At most two of them can be held.
  serve([&] {
    for (Sender& half : halves) half.go_on();
    return master.gone >= 8;
  });
  EXPECT_EQ(master.server.given_up(), static_cast<std::uint64_t>(master.gone));
  Sender whole(master.listener->endpoint(), frame);
  serve([&] {
    whole.go_on();
    return whole.peer.received().size() > hello_size;  // it has its answer
  });
  EXPECT_FALSE(whole.peer.closed());
}

TEST_F(LinkTest, ASmallFrameIsTakenInWhateverOthersHold) {
  FakeMaster master(loop, {.unfinished_bytes_max = 0});
  ClientLink link(loop, config_for(master));
  EXPECT_TRUE(call(link, keep_alive));
  RawPeer peer(master.listener->endpoint());
  const std::string frame = long_question(40'000);
  peer.send(hello_for_control() + frame.substr(0, frame.size() - 1));
  loop.run_until([] { return false; }, loop.now() + 20ms);
  peer.send(frame.substr(frame.size() - 1));
  serve([&] { return master.asked.empty() && peer.received().size() > hello_size; });
  EXPECT_EQ(master.server.given_up(), 0u);
}

}  // namespace
}  // namespace larder::real
