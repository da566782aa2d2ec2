#include "real/rpc/server.h"

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/base/assert.h"
#include "real/rpc/frame_pipe.h"
#include "real/rpc/log.h"

namespace larder::real {
namespace {

struct Waiting {
  CallerId caller;
  std::uint64_t wire_ticket = 0;
  std::size_t missing = 0;
  std::optional<ReplyEncoder> encoder;  // answers since the last flush
};

}  // namespace

struct Server::State {
  struct Caller;

  State(Loop& l, ServerConfig c, RequestHandler& h) : loop(l), config(c), handler(h) {}

  Loop& loop;
  ServerConfig config;
  RequestHandler& handler;
  Epoch epoch;
  std::unordered_map<std::uint64_t, std::unique_ptr<Caller>> callers;
  std::unordered_map<Ticket, Waiting> waiting;
  std::vector<Ticket> to_flush;
  std::uint64_t next_caller = 1;
  Ticket next_ticket = 1;
  RateLimitedLog log;

  void gone(Caller& caller, const Error& error);
  void refuse(Caller& caller, std::uint64_t wire_ticket, const Error& error);
  void send(CallerId caller, std::string frame);
  void done(Ticket ticket);
};

struct Server::State::Caller final : FramePipe::Events {
  Caller(State& s, CallerId i, std::string n) : state(s), id(i), name(std::move(n)) {}
  ~Caller() { pipe->close(); }

  State& state;
  CallerId id;
  std::string name;
  std::shared_ptr<FramePipe> pipe;
  std::unordered_set<Ticket> unanswered;

  void frame(const FrameHeader& header, FrameBytes body) override {
    if (header.kind != FrameKind::request) {
      return pipe->refuse(Error(ErrorCode::invalid_params, "a frame that is no request"));
    }
    if (unanswered.size() >= state.config.unanswered_max) {
      return state.refuse(*this, header.ticket,
                          Error(ErrorCode::busy, std::to_string(unanswered.size()) +
                                                     " requests of this connection wait"));
    }
    auto request = decode_request(body);
    if (!request) {
      state.log.warn(state.loop.now(), name + ": " + request.error().message());
      return state.refuse(*this, header.ticket, request.error());
    }
    const Ticket ticket = state.next_ticket++;
    const std::size_t count = answer_count(request->request.body);
    if (count == 0) {
      return state.refuse(*this, header.ticket,
                          Error(ErrorCode::invalid_params, "a request for no items"));
    }
    state.waiting.emplace(ticket, Waiting{id, header.ticket, count, std::nullopt});
    unanswered.insert(ticket);
    state.handler.request(ticket, id, std::move(*request));
  }

  void broken(Error error) override { state.gone(*this, error); }
};

void Server::State::gone(Caller& caller, const Error& error) {
  // A peer that leaves is no news; one that sends nonsense is.
  if (error.code() != ErrorCode::rpc_fail) {
    log.warn(loop.now(), "closed the connection of " + caller.name + ": " + error.message());
  }
  for (const Ticket ticket : caller.unanswered) waiting.erase(ticket);
  const CallerId id = caller.id;
  callers.erase(id.value);
  handler.caller_gone(id);
}

void Server::State::send(CallerId caller, std::string frame) {
  const auto found = callers.find(caller.value);
  if (found != callers.end()) found->second->pipe->send(std::move(frame));
}

void Server::State::refuse(Caller& caller, std::uint64_t wire_ticket, const Error& error) {
  std::string frame = open_frame();
  const Status outcome = std::unexpected(error);
  encode(std::span(&outcome, 1), frame);
  const Status closed = close_frame(FrameKind::refusal, wire_ticket, frame);
  LARDER_ASSERT(closed.has_value(), "one error fits into a frame");
  caller.pipe->send(std::move(frame));
}

void Server::State::done(Ticket ticket) {
  const auto found = waiting.find(ticket);
  const auto caller = callers.find(found->second.caller.value);
  if (caller != callers.end()) caller->second->unanswered.erase(ticket);
  waiting.erase(found);
}

Server::Server(Loop& loop, ServerConfig config, RequestHandler& handler)
    : state_(std::make_unique<State>(loop, config, handler)) {}
Server::~Server() = default;

void Server::adopt(Socket socket, Hello hello) {
  const CallerId id{state_->next_caller++};
  auto caller = std::make_unique<State::Caller>(*state_, id, std::move(hello.text));
  caller->pipe =
      std::make_shared<FramePipe>(state_->loop, std::move(socket), state_->config.limits, *caller);
  const auto pipe = caller->pipe;
  state_->callers.emplace(id.value, std::move(caller));
  pipe->start();
}

void Server::set_epoch(Epoch epoch) { state_->epoch = epoch; }
Ticket Server::new_ticket() { return state_->next_ticket++; }
std::size_t Server::callers() const { return state_->callers.size(); }

void Server::answer(Ticket ticket, std::uint32_t index, const Answer& answer) {
  const auto found = state_->waiting.find(ticket);
  if (found == state_->waiting.end()) return;
  Waiting& request = found->second;
  LARDER_ASSERT(request.missing > 0, "each item is answered once");
  --request.missing;
  if (!request.encoder) {
    request.encoder.emplace(state_->epoch);
    state_->to_flush.push_back(ticket);
  }
  request.encoder->add(index, answer);
}

void Server::flush() {
  for (const Ticket ticket : state_->to_flush) {
    const auto found = state_->waiting.find(ticket);
    if (found == state_->waiting.end() || !found->second.encoder) continue;
    Waiting& request = found->second;
    std::string frame = open_frame();
    request.encoder->finish(frame);
    request.encoder.reset();
    if (const Status closed = close_frame(FrameKind::reply, request.wire_ticket, frame); !closed) {
      refuse(ticket, closed.error());
      continue;
    }
    state_->send(request.caller, std::move(frame));
    if (request.missing == 0) state_->done(ticket);
  }
  state_->to_flush.clear();
}

void Server::refuse(Ticket ticket, const Error& error) {
  const auto found = state_->waiting.find(ticket);
  if (found == state_->waiting.end()) return;
  const auto caller = state_->callers.find(found->second.caller.value);
  if (caller != state_->callers.end()) {
    state_->refuse(*caller->second, found->second.wire_ticket, error);
  }
  state_->done(ticket);
}

void Server::command(CallerId caller, const Command& command) {
  std::string frame = open_frame();
  encode(command, frame);
  const Status closed = close_frame(FrameKind::command, 0, frame);
  LARDER_ASSERT(closed.has_value(), "a command is bounded");
  state_->send(caller, std::move(frame));
}

}  // namespace larder::real
