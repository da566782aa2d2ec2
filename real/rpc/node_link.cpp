#include "real/rpc/node_link.h"

#include <unordered_map>

#include "core/base/assert.h"
#include "proto/codec.h"
#include "real/rpc/log.h"
#include "real/rpc/master_connection.h"

namespace larder::real {

struct NodeLink::State final : MasterConnection::User {
  State(Loop& l, LinkConfig config, NodeLinkUser& u)
      : loop(l), user(u), connection(l, std::move(config), *this) {}

  Loop& loop;
  NodeLinkUser& user;
  bool started = false;
  // What waits on the present connection: the kinds of the requests, to check the answers.
  std::unordered_map<std::uint64_t, std::size_t> sent;
  MasterConnection connection;

  bool wants_connection() const override { return started; }
  void up() override { user.connected(); }
  void down(const Error& error) override {
    sent.clear();
    user.disconnected(error);
  }

  void frame(const FrameHeader& header, FrameBytes body) override {
    switch (header.kind) {
      case FrameKind::command: {
        const auto command = decode_command(body);
        if (!command) return nonsense(command.error().facts().detail);
        connection.useful();
        return user.command(*command);
      }
      case FrameKind::reply: {
        const auto part = decode_reply(body);
        if (!part) return nonsense(part.error().facts().detail);
        if (part->answers.size() != 1) return nonsense("several answers to one question");
        return answered(header.ticket, part->answers.front());
      }
      case FrameKind::refusal: {
        const auto outcomes = decode_outcomes(body);
        if (!outcomes || outcomes->size() != 1 || outcomes->front()) {
          return nonsense("a refusal without its error");
        }
        return answered(header.ticket, std::unexpected(outcomes->front().error()));
      }
      default:
        return nonsense("a frame that is neither answer nor command");
    }
  }

  void answered(std::uint64_t ticket, const Answer& answer) {
    const auto found = sent.find(ticket);
    if (found == sent.end()) return nonsense("an answer that nobody waits for");
    const bool registers = found->second == RequestBody(RegisterNode{}).index();
    if (answer && std::holds_alternative<NodeRegistered>(*answer) != registers) {
      return nonsense("an answer of another kind than asked for");
    }
    sent.erase(found);
    connection.useful();
    user.answered(ticket, answer);
  }

  void nonsense(std::string_view what) {
    log(LogLevel::warn, "rpc", "the master sent what cannot be right",
        {{"endpoint", connection.name()}, {"what", std::string(what)}});
    connection.give_up(Error(ErrorCode::rpc_fail,
                             "the master at " + connection.name() + " sent " + std::string(what)));
  }
};

NodeLink::NodeLink(Loop& loop, LinkConfig config, NodeLinkUser& user)
    : state_(std::make_unique<State>(loop, std::move(config), user)) {}
NodeLink::~NodeLink() = default;

void NodeLink::start() {
  state_->started = true;
  state_->connection.want();
}

void NodeLink::send(std::uint64_t ticket, const Request& request) {
  if (!state_->connection.is_up()) return;
  state_->sent.emplace(ticket, request.body.index());
  const Status sent = state_->connection.send(FrameKind::request, ticket,
                                              [&](std::string& frame) { encode(request, frame); });
  LARDER_ASSERT(sent.has_value(), "a node's requests are bounded");
}

void NodeLink::reconnect() {
  state_->connection.give_up(Error(ErrorCode::epoch_superseded, "the node leaves this master"));
}

}  // namespace larder::real
