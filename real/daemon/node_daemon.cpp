#include "real/daemon/node_daemon.h"

#include <fmt/format.h>

#include "core/base/size_text.h"
#include "real/daemon/address.h"
#include "real/http/pages.h"
#include "real/rpc/log.h"
#include "real/system/machine.h"

namespace larder::real {
namespace {

constexpr std::uint64_t memory_alignment = 4096;
constexpr std::size_t data_threads_max = 256;
// Of a report, in one message. The next part waits for the answer to the one before, so few are
// soon over; the master takes up so many in some milliseconds, in which others wait for it.
constexpr std::size_t report_part_items = 2048;
constexpr std::uint64_t leave_ticket = ~std::uint64_t{0};  // the core's are counted from 1

}  // namespace

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
      http_(loop, {}, *this) {}

NodeDaemon::~NodeDaemon() {
  // Connections end before what they move bytes into.
  listener_.reset();
  data_.reset();
  host_.reset();
}

Status NodeDaemon::start(const MappedMemory::Progress& progress) {
  LARDER_CHECK(check(options_.tcp));
  if (options_.data_threads == 0 || options_.data_threads > data_threads_max) {
    return failed(ErrorCode::invalid_params, fmt::format("a node has 1 to {} data threads, not {}",
                                                         data_threads_max, options_.data_threads));
  }
  const Bytes asked = options_.memory;
  options_.memory = asked.rounded_down(memory_alignment);
  if (options_.memory != asked) {
    log(LogLevel::warn, "node", "memory is rounded down to whole pages",
        {{"asked", std::to_string(asked.value)},
         {"memory", std::to_string(options_.memory.value)}});
  }
  if (options_.memory == 0_B) log(LogLevel::warn, "node", "this node contributes no memory");
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
  config_.timing = options_.timing;
  config_.inventory_part_items = report_part_items;
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
  data_ = std::make_unique<DataThreads>(*host_, TcpServerConfig{.tcp = options_.tcp},
                                        options_.data_threads, [this](Error error) {
                                          loop_.post([this, error = std::move(error)] {
                                            if (events_.ended)
                                              std::exchange(events_.ended, nullptr)(error);
                                          });
                                        });
  return {};
}

Status NodeDaemon::admits(Role role) const {
  if (role == Role::data) return {};
  return failed(ErrorCode::not_supported, "no master listens here");
}

void NodeDaemon::enter(Role, Socket socket, Hello hello) {
  data_->adopt(std::move(socket), std::move(hello));
}

bool NodeDaemon::enter_other(Socket& socket, std::string_view first) {
  if (!begins_as_http(first)) return false;
  http_.adopt(std::move(socket), first);
  return true;
}

HttpAnswer NodeDaemon::page(std::string_view path) {
  NodeStatus status;
  StageTimes stages;
  host_->use([&](Node& node, Time now, NodeEffects&) {
    status = node.status(now);
    stages = node.stages();
  });
  GivenUp given_up;
  if (listener_ && data_) {  // not while it leaves
    given_up = {.came_too_late = listener_->guests().came_too_late(),
                .made_way = listener_->guests().made_way(),
                .unfinished = data_->given_up()};
  }
  return node_page(path, {.status = status,
                          .stages = stages,
                          .name = options_.name,
                          .capacity = options_.memory,
                          .connected = linked_,
                          .given_up = given_up});
}

// ---- the end ------------------------------------------------------------------------------------

// Nothing reads or fills the memory any more when the master hears of it, since it then takes the
// extents for gone. From now on the core's node is not asked and says nothing.
void NodeDaemon::leave(std::move_only_function<void()> left) {
  leaving_ = true;
  left_ = std::move(left);
  listener_.reset();
  data_.reset();
  if (!linked_) return say_left();
  const std::uint64_t registration =
      host_->use([](Node& node, Time now, NodeEffects&) { return node.status(now).registration; });
  link_->send(leave_ticket, {.body = UnregisterNode{.incarnation = host_->incarnation(),
                                                    .registration = registration}});
}

void NodeDaemon::say_left() {
  if (left_) std::exchange(left_, nullptr)();
}

// ---- the master's side --------------------------------------------------------------------------

void NodeDaemon::connected() {
  if (leaving_) return;
  linked_ = true;
  log(LogLevel::info, "node", "connected to the master",
      {{"endpoint", to_string(options_.master)}});
  host_->use([](Node& node, Time now, NodeEffects& effects) { node.connected(now, effects); });
}

void NodeDaemon::disconnected(const Error& why) {
  if (leaving_) return say_left();
  log(LogLevel::warn, "node", "no connection to the master",
      {{"endpoint", to_string(options_.master)}, {"why", why.message()}});
  if (!std::exchange(linked_, false)) return;  // another attempt that failed
  host_->use([](Node& node, Time now, NodeEffects&) { node.disconnected(now); });
}

void NodeDaemon::answered(std::uint64_t ticket, const Answer& answer) {
  if (leaving_) return ticket == leave_ticket ? say_left() : void();
  if (!answer) {
    log(LogLevel::warn, "node", "the master refuses", {{"why", answer.error().message()}});
  }
  host_->use([&](Node& node, Time now, NodeEffects& effects) {
    node.answered(now, ticket, answer, effects);
  });
  look_whether_ready();
}

void NodeDaemon::command(const Command& command) {
  if (leaving_) return;
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
  if (!leaving_) link_->send(ticket, request);
}

void NodeDaemon::reconnect() {
  if (!leaving_) link_->reconnect();
}

void NodeDaemon::finished() {
  if (leaving_) return;
  log(LogLevel::warn, "node",
      "the master gave this incarnation up; everything is retired, a new one begins",
      {{"node", options_.name}});
  // Not from inside the host that calls.
  loop_.post([this] { begin_again(); });
}

void NodeDaemon::begin_again() {
  if (leaving_) return;
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
