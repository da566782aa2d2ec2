#include "real/daemon/node_daemon.h"

#include <fmt/format.h>

#include "core/base/size_text.h"
#include "real/daemon/address.h"
#include "real/rpc/log.h"
#include "real/system/machine.h"

namespace larder::real {
namespace {

constexpr std::uint64_t memory_alignment = 4096;

}  // namespace

struct NodeDaemon::Logs {
  RateLimitedLog link{std::chrono::seconds(10)};
  RateLimitedLog refusals{std::chrono::seconds(10)};
};

Result<std::unique_ptr<NodeDaemon>> NodeDaemon::make(Loop& loop, NodeOptions options,
                                                     const MappedMemory::Progress& progress,
                                                     Events events) {
  std::unique_ptr<NodeDaemon> daemon(new NodeDaemon(loop, std::move(options), std::move(events)));
  LARDER_CHECK(daemon->start(progress));
  return daemon;
}

NodeDaemon::NodeDaemon(Loop& loop, NodeOptions options, Events events)
    : loop_(loop),
      options_(std::move(options)),
      events_(std::move(events)),
      random_(system_random()),
      logs_(std::make_unique<Logs>()) {}

NodeDaemon::~NodeDaemon() {
  // Connections end before what they move bytes into.
  listener_.reset();
  data_.reset();
  host_.reset();
}

Status NodeDaemon::start(const MappedMemory::Progress& progress) {
  const Bytes asked = options_.memory;
  options_.memory = asked.rounded_down(memory_alignment);
  if (options_.memory != asked) {
    spdlog::warn("{} bytes of memory are rounded down to whole pages: {}", asked.value,
                 options_.memory.value);
  }
  if (options_.memory == 0_B) spdlog::warn("this node contributes no memory");
  if (options_.host.empty()) options_.host = machine_name();
  LARDER_TRY(listener_, Listener::make(loop_, {.endpoint = options_.listen}, *this));
  LARDER_TRY(const Endpoint told, advertised({.listening = listener_->endpoint(),
                                              .host = options_.advertise,
                                              .master = options_.master}));
  if (options_.name.empty()) {
    options_.name = options_.host + ":" + std::to_string(listener_->endpoint().port);
  }
  if (options_.name.size() > name_bytes_max || options_.host.size() > name_bytes_max ||
      options_.rack.size() > name_bytes_max) {
    return failed(
        ErrorCode::invalid_params,
        fmt::format("a node's name, host and rack have at most {} bytes each", name_bytes_max));
  }
  config_.name = options_.name;
  config_.endpoint = to_string(told);
  config_.host = options_.host;
  config_.rack = options_.rack;
  LARDER_CHECK(begin_incarnation(progress));
  NodeLinkUser& user = *this;
  link_ = std::make_unique<NodeLink>(
      loop_, LinkConfig{.master = options_.master, .who = "node " + options_.name}, user);
  link_->start();
  return {};
}

Status NodeDaemon::begin_incarnation(const MappedMemory::Progress& progress) {
  NodeHostUser& user = *this;
  host_ = std::make_unique<NodeHost>(loop_, config_, draw_id<IncarnationId>(random_), user);
  if (options_.memory != 0_B) {
    LARDER_TRY(auto memory, MappedMemory::make(options_.memory, progress));
    LARDER_CHECK(host_->add_segment({.id = draw_id<SegmentId>(random_),
                                     .name = options_.name + "/0",
                                     .kind = SegmentKind::memory,
                                     .size = options_.memory,
                                     .numa_node = -1},
                                    std::move(memory)));
  }
  data_ = std::make_unique<TcpServer>(loop_, *host_, TcpServerConfig{});
  return {};
}

void NodeDaemon::enter(Role, Socket socket, Hello hello) {
  data_->adopt(std::move(socket), std::move(hello));
}

// ---- the master's side --------------------------------------------------------------------------

void NodeDaemon::connected() {
  linked_ = true;
  spdlog::info("connected to the master at {}", to_string(options_.master));
  host_->use([](Node& node, Time now, NodeEffects& effects) { node.connected(now, effects); });
}

void NodeDaemon::disconnected(const Error& why) {
  logs_->link.warn(loop_.now(), "no connection to the master: " + why.message());
  if (!std::exchange(linked_, false)) return;  // another attempt that failed
  host_->use([](Node& node, Time now, NodeEffects&) { node.disconnected(now); });
}

void NodeDaemon::answered(std::uint64_t ticket, const Answer& answer) {
  if (!answer) logs_->refusals.warn(loop_.now(), "the master says " + answer.error().message());
  host_->use([&](Node& node, Time now, NodeEffects& effects) {
    node.answered(now, ticket, answer, effects);
  });
  look_whether_ready();
}

void NodeDaemon::command(const Command& command) {
  host_->use(
      [&](Node& node, Time now, NodeEffects& effects) { node.command(now, command, effects); });
  look_whether_ready();
}

void NodeDaemon::look_whether_ready() {
  if (!events_.ready) return;
  const bool reported =
      host_->use([](Node& node, Time now, NodeEffects&) { return node.status(now).reported; });
  if (reported) std::exchange(events_.ready, nullptr)();
}

void NodeDaemon::send(std::uint64_t ticket, const Request& request) {
  link_->send(ticket, request);
}

void NodeDaemon::reconnect() { link_->reconnect(); }

void NodeDaemon::finished() {
  spdlog::warn("the master gave this incarnation up; everything is retired, a new one begins");
  // Not from inside the host that calls.
  loop_.post([this] { begin_again(); });
}

void NodeDaemon::begin_again() {
  data_.reset();
  host_.reset();
  if (Status begun = begin_incarnation({}); !begun) {
    if (events_.ended) std::exchange(events_.ended, nullptr)(begun.error());
    return;
  }
  // What was asked over the present connection belongs to the old incarnation.
  if (std::exchange(linked_, false)) link_->reconnect();
}

}  // namespace larder::real
