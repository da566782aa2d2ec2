#include <fuzzer/FuzzedDataProvider.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/assert.h"
#include "real/http/http_server.h"
#include "real/http/pages.h"
#include "real/rpc/asio.h"
#include "real/rpc/frame.h"
#include "real/rpc/guests.h"
#include "real/rpc/server.h"
#include "real/transport/node_host.h"
#include "real/transport/tcp_server.h"

// What a process does with a connection from its first byte on: the handshake, and then whatever
// that opened: a master's frames, a node's, or HTTP. The peer writes two pieces, and leaves. The
// same servers serve all inputs, so one that they do not come out of as they went in shows later.

namespace larder::real {
namespace {

constexpr Epoch node_epoch{5};

// A node with one segment, and a master that agrees to everything.
class FakeNode final : NodeHostUser {
 public:
  explicit FakeNode(Loop& loop) : host_(loop, {.name = "node"}, IncarnationId{1, 1}, *this) {
    auto memory = MappedMemory::make(Bytes{1 << 16}, {});
    LARDER_ASSERT(memory.has_value());
    const NodeSegment segment{.id = {2, 2}, .name = "m", .size = Bytes{1 << 16}};
    LARDER_ASSERT(host_.add_segment(segment, std::move(*memory)).has_value());
    server_ = std::make_unique<TcpServer>(loop, host_, TcpServerConfig{});
    host_.use([](Node& node, Time now, NodeEffects& effects) { node.connected(now, effects); });
  }
  TcpServer& server() { return *server_; }
  void check() {
    host_.use([](Node& node, Time, NodeEffects&) { node.check_invariants(); });
  }

 private:
  void send(std::uint64_t ticket, const Request& request) override {
    Answer answer = Done{};
    if (std::holds_alternative<RegisterNode>(request.body)) {
      answer = NodeRegistered{.epoch = node_epoch,
                              .instance = {9, 9},
                              .heartbeat = std::chrono::hours(1),
                              .lowest_unfinished = {}};
    }
    const auto* report = std::get_if<ReportInventory>(&request.body);
    host_.use([&](Node& node, Time now, NodeEffects& effects) {
      node.answered(now, ticket, answer, effects);
      if (report == nullptr || !report->last) return;
      node.command(now,
                   {.incarnation = {1, 1},
                    .epoch = node_epoch,
                    .instance = {9, 9},
                    .body = InventoryTaken{report->registration}},
                   effects);
    });
  }
  void reconnect() override {}
  void finished() override {}

  NodeHost host_;
  std::unique_ptr<TcpServer> server_;
};

class Process final : Doors, RequestHandler, HttpPages {
 public:
  Process()
      : guests_(loop_, {}, *this),
        server_(loop_, {}, *this),
        http_(loop_, {}, *this),
        node_(loop_) {
    server_.set_epoch({7});
    serve();
  }

  void take(std::string_view first, std::string_view second) {
    int ends[2];
    LARDER_ASSERT(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    Socket peer(ends[0]);
    guests_.welcome(Socket(ends[1]));
    say(peer, first);
    say(peer, second);
    peer = Socket();
    serve();
    LARDER_ASSERT(guests_.size() == 0, "whoever leaves is no guest any more");
    LARDER_ASSERT(callers_ == 0 && node_.server().connections() == 0, "and no caller");
    node_.check();
  }

 private:
  Status admits(Role) const override { return server_.has_room(); }
  void enter(Role role, Socket socket, Hello hello) override {
    if (role == Role::data) return node_.server().adopt(std::move(socket), std::move(hello));
    ++callers_;
    server_.adopt(std::move(socket), std::move(hello));
  }
  bool enter_other(Socket& socket, std::string_view first) override {
    if (!begins_as_http(first)) return false;
    http_.adopt(std::move(socket), first);
    return true;
  }
  HttpAnswer page(std::string_view path) override {
    return master_page(path, StatusReport{}, false);
  }
  void request(Ticket ticket, CallerId, DecodedRequest decoded, FrameBytes) override {
    const std::size_t count = answer_count(decoded.request.body);
    for (std::uint32_t i = 0; i < count; ++i) server_.answer(ticket, i, Done{});
    server_.flush();
  }
  void caller_gone(CallerId) override { --callers_; }

  void say(const Socket& peer, std::string_view bytes) {
    (void)::send(peer.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    serve();
  }
  void serve() {
    while (loop_.context().poll() != 0) {
    }
  }

  Loop loop_;
  Guests guests_;
  Server server_;
  HttpServer http_;
  FakeNode node_;
  int callers_ = 0;
};

// What opens a door, so that not every input has to begin with it.
std::string opening(unsigned kind) {
  switch (kind) {
    case 0:
      return encode(Hello{.code = static_cast<std::uint8_t>(Role::control), .text = "f"});
    case 1:
      return encode(Hello{.code = static_cast<std::uint8_t>(Role::data), .text = "f"});
    case 2:
      return "GET /metrics HTTP/1.1\r\n";
    default:
      return "";
  }
}

// The frame that the bytes would be the body of.
std::string framed(FuzzedDataProvider& input) {
  constexpr FrameKind kinds[] = {FrameKind::request, FrameKind::fill, FrameKind::read,
                                 FrameKind::command};
  const FrameKind kind = input.PickValueInArray(kinds);
  std::string frame = open_frame() + input.ConsumeRandomLengthString(2000);
  LARDER_ASSERT(close_frame(kind, 1, frame).has_value());
  return frame;
}

}  // namespace
}  // namespace larder::real

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace larder::real;
  static Process process = [] {
    spdlog::set_default_logger(nullptr);  // thousands of lines each second
    return Process();
  }();
  FuzzedDataProvider input(data, size);
  std::string first = opening(input.ConsumeIntegralInRange(0u, 4u));
  if (input.ConsumeBool()) first += framed(input);
  first += input.ConsumeRandomLengthString(2000);
  process.take(first, input.ConsumeRemainingBytesAsString());
  return 0;
}
