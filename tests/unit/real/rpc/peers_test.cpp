#include "tests/unit/real/rpc/harness.h"

namespace larder::real {
namespace {

TEST_F(LinkTest, GarbageAndHttpAndSilenceAreClosedAndOthersAreServed) {
  FakeMaster master(loop);
  std::deque<RawPeer> peers;
  for (const char* bytes : {"GET / HTTP/1.1\r\nHost: larder\r\n\r\n",
                            "\x16\x03\x01\x02\x00\x01\xfc\x03garbage-garbage", "LAR", ""}) {
    peers.emplace_back(master.listener->endpoint()).send(bytes);
  }
  serve([&] { return std::ranges::all_of(peers, [](RawPeer& peer) { return peer.closed(); }); });
  ClientLink link(loop, config_for(master));
  EXPECT_TRUE(call(link, keep_alive));
}

// As when this process was stopped: the last bytes of the handshake and its end are found at once.
TEST_F(LinkTest, ACallerWhoseTimeEndsWhileItIsAnsweredIsClosedAndOthersAreServed) {
  FakeMaster master(loop);
  RawPeer late(master.listener->endpoint());
  const std::string hello = hello_for_control();
  late.send(hello.substr(0, hello_size));
  loop.run_until([] { return false; }, loop.now() + 10ms);
  late.send(hello.substr(hello_size));
  for (const Time over = loop.now() + 60ms; loop.now() < over;) {
  }
  serve([&] { return late.closed(); });

  RawPeer other(master.listener->endpoint());
  other.send(hello);
  serve([&] { return !other.received().empty(); });
}

TEST_F(LinkTest, GarbageAfterTheHandshakeEndsOnlyThatConnection) {
  FakeMaster master(loop);
  ClientLink link(loop, config_for(master));
  EXPECT_TRUE(call(link, keep_alive));
  RawPeer peer(master.listener->endpoint());
  peer.send(hello_for_control() + std::string(64, '\xff'));
  serve([&] { return peer.closed(); });
  EXPECT_EQ(master.gone, 1);
  EXPECT_TRUE(call(link, keep_alive));
}

TEST_F(LinkTest, StatementD5APeerOfAnotherVersionIsToldBothVersions) {
  FakeMaster master(loop);
  RawPeer peer(master.listener->endpoint());
  peer.send(encode(Hello{.version = {42, 5}, .code = 1, .text = "future"}));
  serve([&] { return peer.closed(); });
  EXPECT_NE(peer.received().find("42.5"), std::string::npos);
  EXPECT_NE(peer.received().find(to_string(protocol_version)), std::string::npos);
}

TEST_F(LinkTest, ADoorThatThisProcessDoesNotHaveIsRefused) {
  FakeMaster master(loop);
  RawPeer peer(master.listener->endpoint());
  peer.send(encode(Hello{.code = static_cast<std::uint8_t>(Role::data), .text = "x"}));
  serve([&] { return peer.closed(); });
  EXPECT_NE(peer.received().find("no node listens here"), std::string::npos);
}

TEST_F(LinkTest, FromAPeerThatReadsNothingNothingIsReadAnyMoreAndOthersAreServed) {
  FakeMaster master(loop, {.limits = {.pause_at = 1 << 16}});
  RawPeer peer(master.listener->endpoint());
  peer.send(hello_for_control());
  std::string frame = open_frame();
  Exists body;
  for (int i = 0; i < 4096; ++i) body.items.push_back({"y"});
  encode(Request{.body = body}, frame);
  ASSERT_TRUE(close_frame(FrameKind::request, 1, frame));
  // Sends for ever, until for a tenth of a second not a byte was taken.
  std::size_t sent = 0;
  Time last_taken = loop.now();
  for (const Time until = loop.now() + 20s;
       loop.now() < until && loop.now() - last_taken < 100ms;) {
    const std::string_view rest = std::string_view(frame).substr(sent % frame.size());
    const ssize_t n =
        ::send(peer.descriptor(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      sent += static_cast<std::size_t>(n);
      last_taken = loop.now();
    }
    loop.run_until([] { return false; }, loop.now() + 1ms);
  }
  EXPECT_GE(loop.now() - last_taken, 100ms);
  EXPECT_EQ(master.gone, 0);
  ClientLink link(loop, config_for(master));
  EXPECT_TRUE(call(link, keep_alive));
}

TEST_F(LinkTest, ABusyPortIsAnErrorThatSaysHowToHaveAFreeOne) {
  FakeMaster master(loop);
  const auto second = Listener::make(loop, {.endpoint = master.listener->endpoint()}, master);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message().find("--listen 127.0.0.1:0"), std::string::npos);
}

// A frame of an Exists for `items` keys that are there.
std::string question(std::size_t items) {
  std::string frame = open_frame();
  Exists body;
  for (std::size_t i = 0; i < items; ++i) body.items.push_back({"y"});
  encode(Request{.body = body}, frame);
  EXPECT_TRUE(close_frame(FrameKind::request, 1, frame));
  return frame;
}

TEST_F(LinkTest, AFrameThatIsBegunAndNotEndedEndsTheConnectionInTime) {
  FakeMaster master(loop, {.limits = {.half_frame = 50ms}});
  const std::string frame = question(100);
  for (const std::size_t sent : {std::size_t{1}, frame_header_size, frame.size() - 1}) {
    const int gone = master.gone;
    RawPeer peer(master.listener->endpoint());
    // Whole ones before it do not excuse it.
    peer.send(hello_for_control() + frame + frame.substr(0, sent));
    const Time begin = loop.now();
    serve([&] { return peer.closed(); });
    EXPECT_GE(loop.now() - begin, 40ms);
    EXPECT_EQ(master.gone, gone + 1);
  }
  EXPECT_EQ(master.asked.size(), 0u);
}

TEST_F(LinkTest, ASlowPeerThatEndsEachFrameInTimeIsServed) {
  FakeMaster master(loop, {.limits = {.half_frame = 500ms}});
  const std::string frame = question(1);
  RawPeer peer(master.listener->endpoint());
  peer.send(hello_for_control());
  std::size_t sent = 0;
  const Time begin = loop.now();
  // Half frames for longer than the limit, but each one ends.
  while (loop.now() - begin < 1200ms) {
    peer.send(std::string_view(frame).substr(sent % frame.size(), 1));
    ++sent;
    loop.run_until([] { return false; }, loop.now() + 1ms);
  }
  EXPECT_FALSE(peer.closed());
  EXPECT_EQ(master.gone, 0);
}

TEST_F(LinkTest, MoreConnectionsThanAllowedAreTurnedAwayAndToldSo) {
  FakeMaster master(loop, {.callers_max = 1});
  ClientLink link(loop, config_for(master));
  EXPECT_TRUE(call(link, keep_alive));
  RawPeer peer(master.listener->endpoint());
  peer.send(hello_for_control());
  serve([&] { return peer.closed(); });
  EXPECT_NE(peer.received().find("there are 1 connections already"), std::string::npos);
  EXPECT_TRUE(call(link, keep_alive));
}

TEST_F(LinkTest, WhileRequestsAreKeptToBeServedLaterNoMoreAreTakenInOnThatConnection) {
  FakeMaster master(loop, {.limits = {.pause_at = 1000}});
  master.answer_at_once = false;
  master.holds = true;
  RawPeer peer(master.listener->endpoint());
  const std::string frame = question(600);
  peer.send(hello_for_control() + frame + frame + frame);
  serve([&] { return master.asked.size() == 1; });
  loop.run_until([] { return false; }, loop.now() + 20ms);
  EXPECT_EQ(master.asked.size(), 1u);
  ClientLink link(loop, config_for(master));
  auto other = link.call(keep_alive, loop.now() + 10s);
  other.start();
  serve([&] { return master.asked.size() == 2; });  // others are served
  master.answer_next();
  master.answer_next();
  serve([&] { return other.done(); });
  serve([&] { return master.asked.size() == 1; });  // and then the next one of the first
  master.server.release(master.asked.front().ticket);
  serve([&] { return master.asked.size() == 2; });
}

TEST_F(LinkTest, APeerThatReadsNothingIsLeftWhenTooMuchWaitsForIt) {
  FakeMaster master(loop, {.limits = {.pause_at = 1 << 30, .close_at = 1 << 20}});
  RawPeer peer(master.listener->endpoint());
  peer.send(hello_for_control());
  serve([&] { return !peer.received().empty(); });
  const std::string frame = question(4096);
  // Answers to what it sends fill the buffers of the kernel first, which hold some MiB.
  std::size_t sent = 0;
  const Time until = loop.now() + 20s;
  while (master.gone == 0 && loop.now() < until) {
    const std::string_view rest = std::string_view(frame).substr(sent % frame.size());
    const ssize_t n =
        ::send(peer.descriptor(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) sent += static_cast<std::size_t>(n);
    loop.run_until([] { return false; }, loop.now() + 1ms);
  }
  EXPECT_EQ(master.gone, 1);
}

TEST_F(LinkTest, WhoeverIsExpelledIsToldWhyAndOthersAreServed) {
  FakeMaster master(loop);
  master.answer_at_once = false;
  ClientLink link(loop, config_for(master));
  auto bad = link.call(keep_alive, loop.now() + 10s);
  bad.start();
  serve([&] { return master.asked.size() == 1; });
  master.server.expel(master.asked.front().ticket,
                      Error(ErrorCode::invalid_params, "no peer of ours asks for that"));
  serve([&] { return bad.done() && master.gone == 1; });
  ASSERT_FALSE(bad.result());
  EXPECT_EQ(bad.result().error().code(), ErrorCode::invalid_params);
  master.asked.clear();
  master.answer_at_once = true;
  EXPECT_TRUE(call(link, keep_alive));
}

// ---- statements ---------------------------------------------------------------------------------

// TCP_NODELAY of every connected TCP socket of this process.
std::vector<int> no_delay_options() {
  std::vector<int> found;
  for (int descriptor = 0; descriptor < 1024; ++descriptor) {
    sockaddr_in peer{};
    socklen_t length = sizeof(peer);
    if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &length) != 0) continue;
    if (peer.sin_family != AF_INET) continue;
    int option = 0;
    length = sizeof(option);
    if (::getsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &option, &length) != 0) continue;
    found.push_back(option);
  }
  return found;
}

TEST_F(LinkTest, StatementC3BothSidesOfAConnectionSendAtOnce) {
  FakeMaster master(loop);
  ClientLink client(loop, config_for(master));
  EXPECT_TRUE(call(client, keep_alive));
  FakeNode node;
  NodeLink of_node(loop, config_for(master), node);
  of_node.start();
  serve([&] { return node.connections == 1; });
  of_node.send(1, keep_alive);
  serve([&] { return !node.answers.empty(); });
  const std::vector<int> options = no_delay_options();
  EXPECT_EQ(options.size(), 4u) << "two connections have two ends each";
  for (const int option : options) EXPECT_NE(option, 0);
}

TEST_F(LinkTest, StatementD5AClientOfAnotherVersionFailsAtConnectAndNamesBoth) {
  // A master of the future, played on a socket.
  const Socket door(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  ASSERT_EQ(::bind(door.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(::listen(door.get(), 1), 0);
  ::getsockname(door.get(), reinterpret_cast<sockaddr*>(&address), &length);
  ClientLink link(loop, {.master = {"127.0.0.1", ntohs(address.sin_port)}, .who = "test"});
  auto asked = link.call(keep_alive, loop.now() + 10s);
  const Time begin = loop.now();
  asked.start();
  pollfd ready{.fd = door.get(), .events = POLLIN, .revents = 0};
  serve([&] { return ::poll(&ready, 1, 0) == 1; });
  const Socket future(::accept(door.get(), nullptr, nullptr));
  const std::string hello = encode(Hello{.version = {42, 5}, .code = 1, .text = ""});
  ASSERT_EQ(::send(future.get(), hello.data(), hello.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(hello.size()));
  serve([&] { return asked.done(); });
  EXPECT_LT(loop.now() - begin, 5s) << "not at its deadline";
  ASSERT_FALSE(asked.result());
  EXPECT_EQ(asked.result().error().code(), ErrorCode::invalid_version);
  const std::string message = asked.result().error().message();
  EXPECT_NE(message.find("42.5"), std::string::npos) << message;
  EXPECT_NE(message.find(to_string(protocol_version)), std::string::npos) << message;
}

}  // namespace
}  // namespace larder::real
