#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <string>

#include "real/rpc/client_link.h"
#include "real/rpc/frame.h"
#include "real/rpc/listener.h"
#include "real/rpc/node_link.h"
#include "real/rpc/server.h"

namespace larder::real {

using namespace std::chrono_literals;

// A master without a core: answers Exists with true for keys that begin with 'y', and only when
// asked to.
struct FakeMaster final : Doors, RequestHandler {
  explicit FakeMaster(Loop& l, ServerConfig config = {}, std::uint16_t port = 0)
      : loop(l), server(l, config, *this) {
    server.set_epoch({7});
    auto made = Listener::make(
        loop, {.endpoint = {"127.0.0.1", port}, .guests = {.deadline = 50ms}}, *this);
    EXPECT_TRUE(made) << made.error().message();
    listener = std::move(*made);
  }

  Status admits(Role role) const override {
    if (role == Role::control) return server.has_room();
    return failed(ErrorCode::not_supported, "no node listens here");
  }
  void enter(Role, Socket socket, Hello hello) override {
    server.adopt(std::move(socket), std::move(hello));
  }
  void request(Ticket ticket, CallerId caller, DecodedRequest request, FrameBytes) override {
    last_caller = caller;
    if (holds) server.hold(ticket);
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
  bool holds = false;  // each request until it is answered
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

// A peer that sends what the test says.
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

inline std::string hello_for_control() {
  return encode(Hello{.code = static_cast<std::uint8_t>(Role::control), .text = "raw"});
}

}  // namespace larder::real
