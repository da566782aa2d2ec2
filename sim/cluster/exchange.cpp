#include "sim/cluster/exchange.h"

#include <utility>

#include "core/base/assert.h"
#include "sim/cluster/client_process.h"
#include "sim/cluster/labels.h"
#include "sim/cluster/node_process.h"
#include "sim/cluster/observer.h"

namespace larder::sim {

namespace {
constexpr Bytes answer_size = 128_B;
constexpr Bytes answer_item_size = 24_B;
}  // namespace

// ---- what all have ------------------------------------------------------------------------------

Exchange::Exchange(const Parts& parts)
    : parts_(parts), deadline_(parts.client, deadline_label, [this] {
        finish_at_client(std::unexpected(failure("the transfer's deadline has passed")));
      }) {
  deadline_.arm(parts.deadline);
}

Exchange::~Exchange() = default;

void Exchange::abandon() {
  const auto self = shared_from_this();
  over_at_client_ = true;
  deadline_.disarm();
  stop_flows();
  close_at_client();
  parts_.client.forget(*this);
}

void Exchange::start_flow(std::size_t item, Route route, Bytes length, bool paused) {
  flows_[item] = std::make_unique<ItemFlow>(
      *this, item,
      Flow::Plan{.route = route, .length = length, .shuffled = parts_.settings.shuffled});
  if (paused) flows_[item]->pause();
  flows_[item]->start();
}

void Exchange::stop_flows() {
  for (std::unique_ptr<ItemFlow>& flow : flows_) flow.reset();
}

void Exchange::finish_at_client(Status status) {
  if (std::exchange(over_at_client_, true)) return;
  const auto self = shared_from_this();
  deadline_.disarm();
  stop_flows();
  close_at_client();
  if (!status) {
    parts_.client.observer().transfer_failed(parts_.client, parts_.endpoint, status.error());
    set_all_results(status.error());
  }
  parts_.client.forget(*this);
  parts_.completion->complete(std::move(status));
}

Error Exchange::failure(std::string sentence) const {
  return Error(ErrorCode::transfer_fail, std::move(sentence)).with_endpoint(parts_.endpoint);
}

// ---- over a connection --------------------------------------------------------------------------

void StreamExchange::begin() {
  LARDER_ASSERT(items() > 0);
  flows_.resize(items());
  connection_ = std::make_shared<Connection>(
      parts_.client.kernel(), parts_.network,
      Route{.from = parts_.client.host().id, .to = parts_.node.host().id}, Connection::Settings());
  const auto self = std::static_pointer_cast<StreamExchange>(shared_from_this());
  connection_->on_close(Connection::End::caller, [this, weak = std::weak_ptr(self)] {
    const auto alive = weak.lock();
    if (!alive || over_at_client()) return;
    parts_.client.enter([this, alive] {
      finish_at_client(std::unexpected(failure("the node closed the connection")));
    });
  });
  connection_->send(Connection::End::caller, request_size(), transfer_label,
                    [self] { self->reach_node(); });
}

void StreamExchange::reach_node() {
  if (!parts_.node.alive() || parts_.node.endpoint() != parts_.endpoint) {
    return connection_->close(Connection::End::acceptor);  // nobody listens there
  }
  const auto self = std::static_pointer_cast<StreamExchange>(shared_from_this());
  at_node_ = true;
  parts_.node.add(self);
  connection_->on_close(Connection::End::acceptor, [this, weak = std::weak_ptr(self)] {
    const auto alive = weak.lock();
    if (!alive) return;
    parts_.node.enter([this, alive] {
      if (!at_node_) return;
      client_gone_ = true;
      end_items_of_gone_client();
    });
  });
  parts_.node.enter([this, self] { accept(); });
}

void StreamExchange::accept() {
  if (!at_node_) return;
  connection_id_ = parts_.node.new_connection();
  begin_item(0);
  if (!parts_.settings.one_sided) return;
  for (std::size_t item = 1; item < items(); ++item) {
    if (!follows_previous(item)) begin_item(item);
  }
}

void StreamExchange::item_done(std::size_t item) {
  if (++done_ == items()) return answer();
  const std::size_t next = item + 1;
  if (next == items()) return;
  if (!parts_.settings.one_sided || follows_previous(next)) begin_item(next);
}

void StreamExchange::item_done_soon(std::size_t item) {
  const auto self = std::static_pointer_cast<StreamExchange>(shared_from_this());
  parts_.node.kernel().post(parts_.node.kernel().now(), transfer_label, [this, self, item] {
    if (!at_node_) return;
    parts_.node.enter([this, self, item] {
      if (at_node_) item_done(item);
    });
  });
}

void StreamExchange::answer() {
  const auto self = std::static_pointer_cast<StreamExchange>(shared_from_this());
  connection_->send(Connection::End::acceptor, answer_size + answer_item_size * items(),
                    transfer_answer_label, [this, self] {
                      parts_.client.enter([this, self] {
                        if (over_at_client()) return;
                        deliver_results();
                        finish_at_client({});
                      });
                    });
  leave_node();
}

void StreamExchange::pace_changed() {
  for (const std::unique_ptr<ItemFlow>& flow : flows_) {
    if (!flow) continue;
    if (paused()) {
      flow->pause();
    } else {
      flow->resume();
    }
  }
}

bool StreamExchange::paused() const {
  return !parts_.settings.one_sided && (parts_.client.stopped() || parts_.node.stopped());
}

void StreamExchange::node_dies() {
  at_node_ = false;
  stop_flows();
  connection_->close(Connection::End::acceptor);
}

void StreamExchange::close_at_client() { connection_->close(Connection::End::caller); }

void StreamExchange::close_at_node() {
  stop_flows();
  connection_->close(Connection::End::acceptor);
  leave_node();
}

void StreamExchange::leave_node() {
  at_node_ = false;
  connection_->on_close(Connection::End::acceptor, nullptr);
  parts_.node.remove(*this);
}

}  // namespace larder::sim
