#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <deque>
#include <optional>

#include "real/rpc/client_link.h"
#include "real/rpc/frame.h"
#include "real/rpc/listener.h"
#include "real/rpc/node_link.h"
#include "real/rpc/server.h"

namespace larder::real {
namespace {

using namespace std::chrono_literals;

// A master without a core: answers Exists with true for keys that begin with 'y', and only when
// asked to.
struct FakeMaster final : Doors, RequestHandler {
  explicit FakeMaster(Loop& l, ServerConfig config = {}, std::uint16_t port = 0)
      : loop(l), server(l, config, *this) {
    server.set_epoch({7});
    auto made =
        Listener::make(loop, {.endpoint = {"127.0.0.1", port}, .handshake_deadline = 50ms}, *this);
    EXPECT_TRUE(made) << made.error().message();
    listener = std::move(*made);
  }

  bool serves(Role role) const override { return role == Role::control; }
  void enter(Role, Socket socket, Hello hello) override {
    server.adopt(std::move(socket), std::move(hello));
  }
  void request(Ticket ticket, CallerId caller, DecodedRequest request) override {
    last_caller = caller;
    asked.push_back({ticket, std::move(request)});
    if (answer_at_once) answer_next();
  }
  void caller_gone(CallerId) override { ++gone; }

  void answer_next() {
    const auto [ticket, decoded] = std::move(asked.front());
    asked.pop_front();
    if (const auto* exists = std::get_if<Exists>(&decoded.request.body)) {
      for (std::uint32_t i = 0; i < exists->items.size(); ++i) {
        server.answer(ticket, i, Existence{.exists = exists->items[i].key.starts_with('y')});
      }
    } else {
      server.answer(ticket, 0, wrong_kind ? Answer(Existence{}) : Answer(Done{}));
    }
    server.flush();
  }

  Loop& loop;
  Server server;
  std::unique_ptr<Listener> listener;
  struct Asked {
    Ticket ticket;
    DecodedRequest request;
  };
  std::deque<Asked> asked;
  CallerId last_caller;
  int gone = 0;
  bool answer_at_once = true;
  bool wrong_kind = false;
};

class LinkTest : public ::testing::Test {
 protected:
  LinkConfig config_for(const FakeMaster& master) {
    return {.master = master.listener->endpoint(), .who = "test", .backoff_first = 1ms};
  }
  // Serves until `done`, for at most ten seconds.
  template <class DoneNow>
  void serve(DoneNow done) {
    loop.run_until(done, loop.now() + 10s);
    ASSERT_TRUE(done());
  }
  Result<Reply> call(ClientLink& link, const Request& request, Duration time = 10s) {
    auto task = link.call(request, loop.now() + time);
    task.start();
    loop.run_until([&] { return task.done(); }, loop.now() + 20s);
    return std::move(task.result());
  }

  Loop loop;
  const Request keep_alive{.body = KeepAlive{}};
};

TEST_F(LinkTest, EachItemOfACallIsAnsweredInOrder) {
  FakeMaster master(loop);
  ClientLink link(loop, config_for(master));
  const auto reply = call(link, Request{.body = Exists{.items = {{"yes"}, {"no"}, {"yet"}}}});
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(reply->epoch, Epoch{7});
  ASSERT_EQ(reply->answers.size(), 3u);
  EXPECT_TRUE(std::get<Existence>(*reply->answers[0]).exists);
  EXPECT_FALSE(std::get<Existence>(*reply->answers[1]).exists);
  EXPECT_TRUE(std::get<Existence>(*reply->answers[2]).exists);
}

TEST_F(LinkTest, CallsArePipelinedAndAnsweredInAnyOrderAndInParts) {
  FakeMaster master(loop);
  master.answer_at_once = false;
  ClientLink link(loop, config_for(master));
  const Request two{.body = Exists{.items = {{"y"}, {"y"}}}};
  auto first = link.call(two, loop.now() + 10s);
  auto second = link.call(keep_alive, loop.now() + 10s);
  first.start();
  second.start();
  serve([&] { return master.asked.size() == 2; });
  const Ticket ticket = master.asked[0].ticket;
  master.asked.pop_front();
  master.answer_next();  // the second call
  serve([&] { return second.done(); });
  EXPECT_FALSE(first.done());
  master.server.answer(ticket, 1, failed(ErrorCode::object_not_found));
  master.server.flush();
  master.server.answer(ticket, 0, Existence{.exists = true});
  master.server.flush();
  serve([&] { return first.done(); });
  ASSERT_TRUE(first.result());
  EXPECT_TRUE(std::get<Existence>(*first.result()->answers[0]).exists);
  EXPECT_EQ(first.result()->answers[1].error().code(), ErrorCode::object_not_found);
}

TEST_F(LinkTest, ACallThatIsNotAnsweredTimesOutAndSaysHowLongItWaited) {
  FakeMaster master(loop);
  master.answer_at_once = false;
  ClientLink link(loop, config_for(master));
  const auto reply = call(link, keep_alive, 30ms);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code(), ErrorCode::rpc_timeout);
  EXPECT_GE(reply.error().facts().elapsed, 30ms);
  EXPECT_EQ(reply.error().facts().endpoint, to_string(master.listener->endpoint()));
}

TEST_F(LinkTest, AMasterThatIsNotThereIsAnErrorOfItsOwn) {
  auto away = std::make_unique<FakeMaster>(loop);
  const LinkConfig config = config_for(*away);
  away.reset();
  ClientLink link(loop, config);
  const auto reply = call(link, keep_alive, 100ms);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code(), ErrorCode::rpc_fail);
  EXPECT_NE(reply.error().message().find(to_string(config.master)), std::string::npos);
}

TEST_F(LinkTest, ACallIsSentAgainToTheMasterThatComesBack) {
  auto master = std::make_unique<FakeMaster>(loop);
  master->answer_at_once = false;
  const LinkConfig config = config_for(*master);
  ClientLink link(loop, config);
  auto task = link.call(keep_alive, loop.now() + 10s);
  task.start();
  serve([&] { return master->asked.size() == 1; });
  master.reset();
  master = std::make_unique<FakeMaster>(loop, ServerConfig{}, config.master.port);
  serve([&] { return task.done(); });
  EXPECT_TRUE(task.result()) << task.result().error().message();
}

TEST_F(LinkTest, DestroyingACallForgetsItAndTheLinkGoesOn) {
  FakeMaster master(loop);
  master.answer_at_once = false;
  ClientLink link(loop, config_for(master));
  {
    auto task = link.call(keep_alive, loop.now() + 10s);
    task.start();
    serve([&] { return master.asked.size() == 1; });
  }
  master.answer_next();  // nobody waits for it
  master.answer_at_once = true;
  EXPECT_TRUE(call(link, keep_alive));
}

TEST_F(LinkTest, AnAnswerOfTheWrongKindNeverReachesTheCaller) {
  FakeMaster master(loop);
  master.wrong_kind = true;
  ClientLink link(loop, config_for(master));
  const auto reply = call(link, keep_alive, 100ms);
  ASSERT_FALSE(reply);
}

TEST_F(LinkTest, AMessageThatCannotBeDecodedIsRefusedAndTheConnectionGoesOn) {
  FakeMaster master(loop);
  ClientLink link(loop, config_for(master));
  const std::string key(2000, 'k');
  const auto reply = call(link, Request{.body = Exists{.items = {{key}}}});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code(), ErrorCode::invalid_key);
  EXPECT_TRUE(call(link, keep_alive));
  EXPECT_EQ(master.gone, 0);
}

TEST_F(LinkTest, MoreUnansweredRequestsThanAllowedAreRefusedAsBusy) {
  FakeMaster master(loop, {.unanswered_max = 1});
  master.answer_at_once = false;
  ClientLink link(loop, config_for(master));
  auto first = link.call(keep_alive, loop.now() + 10s);
  first.start();
  const auto second = call(link, keep_alive);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), ErrorCode::busy);
}

TEST_F(LinkTest, ACallTooLongForAFrameIsRefusedWithoutBeingSent) {
  FakeMaster master(loop);
  ClientLink link(loop, config_for(master));
  const std::string key(frame_body_max + 1, 'k');
  const auto reply = call(link, Request{.body = Exists{.items = {{key}}}});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code(), ErrorCode::invalid_params);
}

// ---- what else may knock at the port -----------------------------------------------------------

class RawPeer {
 public:
  explicit RawPeer(const Endpoint& endpoint) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(endpoint.port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  void send(std::string_view bytes) {
    EXPECT_EQ(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  int descriptor() const { return socket_.get(); }
  // What has come so far.
  const std::string& received() {
    char bytes[4096];
    ssize_t n = 0;
    while ((n = ::recv(socket_.get(), bytes, sizeof(bytes), MSG_DONTWAIT)) > 0) {
      received_.append(bytes, static_cast<std::size_t>(n));
    }
    closed_ = closed_ || n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
    return received_;
  }
  bool closed() {
    received();
    return closed_;
  }

 private:
  Socket socket_;
  std::string received_;
  bool closed_ = false;
};

std::string hello_for_control() {
  return encode(Hello{.code = static_cast<std::uint8_t>(Role::control), .text = "raw"});
}

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

TEST_F(LinkTest, APeerOfAnotherVersionIsToldBothVersions) {
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

// ---- a node's link -----------------------------------------------------------------------------

struct FakeNode final : NodeLinkUser {
  void connected() override { ++connections; }
  void disconnected(const Error&) override { ++disconnections; }
  void answered(std::uint64_t ticket, const Answer& answer) override {
    tickets.push_back(ticket);
    answers.push_back(answer);
  }
  void command(const Command& command) override { commands.push_back(command); }

  int connections = 0;
  int disconnections = 0;
  std::vector<std::uint64_t> tickets;
  std::vector<Answer> answers;
  std::vector<Command> commands;
};

TEST_F(LinkTest, ANodeGetsAnswersAndCommandsOverOneConnectionAndComesBackAfterALoss) {
  auto master = std::make_unique<FakeMaster>(loop);
  const LinkConfig config = config_for(*master);
  FakeNode node;
  NodeLink link(loop, config, node);
  link.start();
  serve([&] { return node.connections == 1; });
  link.send(99, Request{.body = Heartbeat{}});
  serve([&] { return !node.answers.empty(); });
  EXPECT_EQ(node.tickets.front(), 99u);
  EXPECT_TRUE(node.answers.front());

  const Command retire{.epoch = {7}, .body = RetireExtents{.extents = {{.put_id = {{7}, 3}}}}};
  master->server.command(master->last_caller, retire);
  serve([&] { return !node.commands.empty(); });
  EXPECT_EQ(std::get<RetireExtents>(node.commands.front().body).extents.front().put_id,
            (PutId{{7}, 3}));

  master.reset();
  serve([&] { return node.disconnections > 0; });
  master = std::make_unique<FakeMaster>(loop, ServerConfig{}, config.master.port);
  serve([&] { return node.connections == 2; });
}

// ---- time
// ----------------------------------------------------------------------------------------

TEST_F(LinkTest, AlarmsRingInTheOrderOfTheirTimesAndNotOnceDisarmed) {
  std::string rung;
  Alarm a(loop, [&] { rung += 'a'; });
  Alarm b(loop, [&] { rung += 'b'; });
  Alarm c(loop, [&] { rung += 'c'; });
  const Time now = loop.now();
  a.set(now + 3ms);
  b.set(now + 1ms);
  c.set(now + 2ms);
  c.cancel();
  serve([&] { return rung.size() == 2; });
  EXPECT_EQ(rung, "ba");
  a.set(now);  // in the past: rings soon, not at once
  EXPECT_EQ(rung, "ba");
  serve([&] { return rung == "baa"; });
}

}  // namespace
}  // namespace larder::real
