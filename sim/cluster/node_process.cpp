#include "sim/cluster/node_process.h"

#include <algorithm>
#include <chrono>

#include "core/base/assert.h"
#include "core/base/hash.h"
#include "sim/cluster/labels.h"
#include "sim/cluster/master_process.h"
#include "sim/cluster/observer.h"

namespace larder::sim {

namespace {

constexpr Bytes control_bytes = 256_B;  // of a small message
constexpr Bytes item_bytes = 96_B;
constexpr Duration tick_pause = std::chrono::microseconds(10);
constexpr Duration verify_time = std::chrono::microseconds(300);

Bytes size_of(const Request& request) {
  return control_bytes + item_bytes * answer_count(request.body);
}

}  // namespace

NodeProcess::NodeProcess(Kernel& kernel, Network& network, Host& host, Observer& observer,
                         MasterProcess& master, const NodeSettings& settings, Random random)
    : Process(kernel, host, observer),
      network_(network),
      master_(&master),
      settings_(settings),
      random_(random),
      tick_(*this, tick_label,
            [this] {
              machine_->tick(now(), effects_);
              carry_out();
            }),
      reconnect_(*this, connect_label, [this] { connect(); }) {}

NodeProcess::~NodeProcess() { crash(); }

void NodeProcess::start() {
  begin_life();
  const IncarnationId incarnation{.high = random_.next(), .low = random_.next()};
  SegmentMemory& footers = *this;
  machine_ = std::make_unique<Node>(settings_.config, incarnation, footers);
  for (std::size_t index = 0; index < settings_.segments.size(); ++index) {
    const SegmentId id{.high = random_.next(), .low = random_.next()};
    const Bytes size = settings_.segments[index];
    memories_[id] = settings_.content ? std::make_unique<TrackedMemory>(size) : nullptr;
    const Status added = machine_->add_segment(
        now(),
        {.id = id, .name = settings_.config.name + "/" + std::to_string(index), .size = size},
        effects_);
    LARDER_ASSERT(added.has_value(), "the simulated node's segment was refused");
  }
  carry_out();
  reconnect_.arm(now());
}

void NodeProcess::crash() {
  if (!alive()) return;
  end_life();
  tick_.disarm();
  reconnect_.disarm();
  disconnect();
  for (const std::shared_ptr<Exchange>& exchange : std::exchange(exchanges_, {})) {
    exchange->node_dies();
  }
  effects_.clear();
  machine_.reset();
  memories_.clear();
}

void NodeProcess::obey(MasterProcess& master) {
  master_ = &master;
  reset_connection();
}

void NodeProcess::reset_connection() {
  if (!alive()) return;
  disconnect();
  enter([this] { connection_lost(); });
}

void NodeProcess::move(std::string endpoint, std::vector<Bytes> segments) {
  LARDER_ASSERT(!alive());
  settings_.config.endpoint = std::move(endpoint);
  settings_.segments = std::move(segments);
}

void NodeProcess::remove(const Exchange& exchange) {
  std::erase_if(exchanges_, [&](const auto& each) { return each.get() == &exchange; });
}

TrackedMemory* NodeProcess::memory(SegmentId segment) {
  const auto place = memories_.find(segment);
  return place == memories_.end() ? nullptr : place->second.get();
}

void NodeProcess::write_footer(ReplicaLocation at, const FooterBytes& footer) {
  if (TrackedMemory* written = memory(at.segment)) written->write_plain(at.offset, footer);
}

void NodeProcess::pace_changed() {
  for (const std::shared_ptr<Exchange>& exchange : exchanges_) exchange->pace_changed();
}

// ---- the connection to the master ---------------------------------------------------------------

void NodeProcess::connect() {
  disconnect();
  // Nobody may answer: the master can die with the connection in its backlog.
  reconnect_.arm_in(settings_.connect_timeout);
  const Route route{.from = host().id, .to = master_->host().id};
  connection_ = std::make_shared<Connection>(kernel(), network_, route, Connection::Settings());
  const std::weak_ptr<Connection> weak = connection_;
  connection_->on_close(Connection::End::caller, [this, weak] {
    enter([this, weak] {
      if (connection_ == weak.lock()) connection_lost();
    });
  });
  connection_->send(Connection::End::caller, control_bytes, connect_label,
                    [this, master = master_, connection = connection_] {
                      if (!master->alive()) return connection->close(Connection::End::acceptor);
                      master->enter([this, master, connection] {
                        if (!connection->open(Connection::End::acceptor)) return;
                        master->accept(connection, *this);
                        connection->send(Connection::End::acceptor, control_bytes, connect_label,
                                         [this, connection] {
                                           enter([this, connection] {
                                             if (connection_ != connection) return;
                                             reconnect_.disarm();
                                             machine_->connected(now(), effects_);
                                             carry_out();
                                           });
                                         });
                      });
                    });
}

void NodeProcess::disconnect() {
  if (const auto closed = std::exchange(connection_, nullptr)) {
    closed->close(Connection::End::caller);
  }
}

void NodeProcess::connection_lost() {
  disconnect();
  machine_->disconnected(now());
  arm_tick();
  const auto most = static_cast<std::uint64_t>(settings_.reconnect.count());
  reconnect_.arm_in(settings_.reconnect + Duration(random_.below(most + 1)));
}

void NodeProcess::send(const NodeEffects::Send& send) {
  observer().node_sent(*this, send.request);
  if (!connection_) return;
  auto request = std::make_shared<const OwnedRequest>(send.request);
  const auto answered = [this, connection = connection_, ticket = send.ticket](const Reply& reply) {
    const Bytes size = control_bytes + item_bytes * reply.answers.size();
    connection->send(Connection::End::acceptor, size, node_answer_label,
                     [this, connection, ticket, answer = reply.answers.at(0)] {
                       enter([this, connection, ticket, answer] {
                         if (connection_ != connection) return;
                         machine_->answered(now(), ticket, answer, effects_);
                         carry_out();
                       });
                     });
  };
  connection_->send(Connection::End::caller, size_of(send.request), node_request_label,
                    [master = master_, connection = connection_, request, answered] {
                      master->enter([master, connection, request, answered] {
                        master->receive_from_node(connection, request, answered);
                      });
                    });
  if (echo_ > Duration(0)) send_again(request);
}

// As if the network had kept a copy: it does not come on the connection, but the master that it was
// meant for is still the same.
void NodeProcess::send_again(const std::shared_ptr<const OwnedRequest>& request) {
  kernel().post(
      later(kernel().now(), echo_), node_request_label,
      [master = master_, life = master_->life(), request] {
        if (master->life() != life) return;
        master->enter([master, request] { master->receive(request, [](const Reply&) {}); });
      });
}

void NodeProcess::send_command(const std::shared_ptr<Connection>& connection,
                               const Command& command) {
  connection->send(Connection::End::acceptor, control_bytes, command_label,
                   [this, connection, command] {
                     enter([this, connection, command] {
                       if (connection_ != connection) return;
                       machine_->command(now(), command, effects_);
                       carry_out();
                     });
                   });
}

// ---- what the machine asks for ------------------------------------------------------------------

void NodeProcess::carry_out() {
  // Nothing here calls the machine, so nothing is appended meanwhile.
  for (const FillId fill : effects_.abort_fills) {
    for (const std::shared_ptr<Exchange>& exchange : exchanges_) exchange->abort_fill(fill);
  }
  for (const ReadId read : effects_.abort_reads) {
    for (const std::shared_ptr<Exchange>& exchange : exchanges_) exchange->abort_read(read);
  }
  for (const NodeEffects::Verify& each : effects_.verify) verify(each);
  for (const NodeEffects::Send& each : effects_.send) send(each);
  if (effects_.reconnect) {
    kernel().post(kernel().now(), connect_label, [this, connection = connection_] {
      enter([this, connection] {
        if (connection_ == connection) connection_lost();
      });
    });
  }
  if (effects_.finished) {
    kernel().post(kernel().now(), restart_label, [this, ended = life()] {
      if (!alive() || life() != ended) return;
      crash();
      kernel().post(later(kernel().now(), settings_.restart), restart_label, [this] {
        if (!alive()) start();
      });
    });
  }
  effects_.clear();
  arm_tick();
}

void NodeProcess::verify(const NodeEffects::Verify& verify) {
  kernel().post(
      later(kernel().now(), verify_time), verify_label, [this, verify, asked_in = life()] {
        if (life() != asked_in) return;
        enter([this, verify] {
          const TrackedMemory* read = memory(verify.extent.location.segment);
          // Without content, nothing ever differs from its checksum, since none is made.
          const std::uint64_t found =
              read ? checksum(read->bytes(verify.extent.location.offset, verify.size)) : 0;
          machine_->verified(now(), verify.id, found, effects_);
          carry_out();
        });
      });
}

void NodeProcess::arm_tick() {
  const std::optional<Time> due = machine_->next_deadline();
  tick_.arm(due ? std::max(*due, now() + tick_pause) : time_never);
}

}  // namespace larder::sim
