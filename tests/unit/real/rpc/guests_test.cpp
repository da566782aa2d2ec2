#include "real/rpc/guests.h"

#include <gtest/gtest.h>

#include <deque>

#include "tests/unit/real/rpc/harness.h"

namespace larder::real {
namespace {

struct OpenDoors final : Doors {
  Status admits(Role) const override { return {}; }
  void enter(Role, Socket, Hello hello) override { entered.push_back(hello.text); }
  bool enter_other(Socket& socket, std::string_view first) override {
    if (!first.starts_with("other")) return false;
    const Socket taken = std::move(socket);
    ++others;
    return true;
  }
  std::vector<std::string> entered;
  int others = 0;
};

class GuestsTest : public LinkTest {
 protected:
  // The other end of a new guest.
  Socket come(Guests& guests) {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    guests.welcome(Socket(ends[1]));
    return Socket(ends[0]);
  }
  static void say(const Socket& peer, std::string_view bytes) {
    EXPECT_EQ(::send(peer.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  static bool is_closed(const Socket& peer) {
    char byte = 0;
    return ::recv(peer.get(), &byte, 1, MSG_DONTWAIT) == 0;
  }
  OpenDoors doors;
};

TEST_F(GuestsTest, ANewcomerGetsInHoweverManyAreSilent) {
  Guests guests(loop, {.deadline = 10s, .max = 3}, doors);
  std::deque<Socket> silent;
  for (int i = 0; i < 10; ++i) silent.push_back(come(guests));
  EXPECT_EQ(guests.size(), 3u);
  EXPECT_EQ(guests.made_way(), 7u);
  // Those that came first have gone.
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(is_closed(silent[i]), i < 7) << i;
  const Socket newcomer = come(guests);
  say(newcomer, hello_for_control());
  serve([&] { return !doors.entered.empty(); });
  EXPECT_EQ(doors.entered.front(), "raw");
  EXPECT_EQ(guests.size(), 2u);
}

TEST_F(GuestsTest, WhoeverSaysNothingInTimeGoes) {
  Guests guests(loop, {.deadline = 30ms}, doors);
  const Time begin = loop.now();
  const Socket silent = come(guests), half = come(guests);
  say(half, hello_for_control().substr(0, hello_size));
  serve([&] { return is_closed(silent) && is_closed(half); });
  EXPECT_GE(loop.now() - begin, 30ms);
  EXPECT_EQ(guests.came_too_late(), 2u);
  EXPECT_EQ(guests.size(), 0u);
}

TEST_F(GuestsTest, WhoeverHasEnteredOrLeftIsNoGuestAnyMore) {
  Guests guests(loop, {.deadline = 10s, .max = 1}, doors);
  const Socket entered = come(guests);
  say(entered, hello_for_control());
  serve([&] { return doors.entered.size() == 1; });
  const Socket other = come(guests);
  say(other, "other-0123456789");
  serve([&] { return doors.others == 1; });
  {
    const Socket left = come(guests);
  }
  serve([&] { return guests.size() == 0; });
  EXPECT_EQ(guests.made_way(), 0u);
  EXPECT_FALSE(guests.give_up_oldest());
}

TEST_F(GuestsTest, TheyAreClosedWithTheirHost) {
  Socket one, two;
  {
    Guests guests(loop, {.deadline = 10s}, doors);
    one = come(guests);
    two = come(guests);
    say(two, hello_for_control());
  }
  serve([&] { return is_closed(one); });
  loop.run_until([] { return false; }, loop.now() + 10ms);
  EXPECT_TRUE(doors.entered.empty());
}

}  // namespace
}  // namespace larder::real
