#include "real/rpc/server.h"

#include <boost/intrusive/list.hpp>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/base/assert.h"
#include "core/protocol/limits.h"
#include "real/rpc/frame_pipe.h"
#include "real/rpc/log.h"

namespace larder::real {
namespace {

// A ticket is the slot of what it stands for, and above it a number, so that it is used once.
constexpr unsigned slot_bits = 24;
constexpr std::size_t slots_max = std::size_t{1} << slot_bits;
constexpr std::size_t slot_of(Ticket ticket) { return ticket & (slots_max - 1); }

}  // namespace

struct Server::State {
  struct Caller;
  // A request that is not fully answered.
  struct Waiting {
    Ticket ticket = 0;  // 0: none, the slot is free
    Caller* caller = nullptr;
    std::uint64_t wire_ticket = 0;
    std::size_t missing = 0;
    std::size_t bytes = 0;  // of its frame
    bool held = false;
    std::optional<ReplyEncoder> encoder;  // answers since the last flush
    boost::intrusive::list_member_hook<> by_caller;
  };
  using WaitingOfCaller = boost::intrusive::list<
      Waiting, boost::intrusive::member_hook<Waiting, boost::intrusive::list_member_hook<>,
                                             &Waiting::by_caller>>;

  State(Loop& l, ServerConfig c, RequestHandler& h)
      : loop(l), config(c), handler(h), unfinished(c.unfinished_bytes_max) {}

  Loop& loop;
  ServerConfig config;
  RequestHandler& handler;
  UnfinishedFrames unfinished;  // outlives the callers
  Epoch epoch;
  std::deque<Waiting> slots;
  std::vector<std::size_t> free;
  std::uint64_t next_number = 1;
  std::unordered_map<std::uint64_t, std::unique_ptr<Caller>> callers;
  std::vector<Ticket> to_flush;
  std::uint64_t next_caller = 1;

  Waiting* find(Ticket ticket) {
    const std::size_t slot = slot_of(ticket);
    if (slot >= slots.size() || slots[slot].ticket != ticket) return nullptr;
    return &slots[slot];
  }
  Waiting& add(Caller& caller);
  void forget(Waiting& request);
  void release(Waiting& request);
  void gone(Caller& caller, const Error& error);
  void refuse(Caller& caller, std::uint64_t wire_ticket, const Error& error);
};

struct Server::State::Caller final : FramePipe::Events {
  Caller(State& s, CallerId i, std::string n) : state(s), id(i), name(std::move(n)) {}
  ~Caller() {
    while (!unanswered.empty()) state.forget(unanswered.front());
    pipe->close();
  }

  State& state;
  CallerId id;
  std::string name;
  std::shared_ptr<FramePipe> pipe;
  WaitingOfCaller unanswered;

  void frame(const FrameHeader& header, FrameBytes body) override {
    if (header.kind != FrameKind::request) {
      return pipe->refuse(Error(ErrorCode::invalid_params, "a frame that is no request"));
    }
    if (unanswered.size() >= state.config.unanswered_max ||
        (state.free.empty() && state.slots.size() == slots_max)) {
      return state.refuse(*this, header.ticket,
                          Error(ErrorCode::busy, std::to_string(unanswered.size()) +
                                                     " requests of this connection wait"));
    }
    auto request = decode_request(body);
    if (!request) {
      log(LogLevel::warn, "rpc", "refused a request",
          {{"caller", name}, {"why", request.error().message()}});
      return state.refuse(*this, header.ticket, request.error());
    }
    const std::size_t count = answer_count(request->request.body);
    if (count == 0) {
      return state.refuse(*this, header.ticket,
                          Error(ErrorCode::invalid_params, "a request for no items"));
    }
    Waiting& waiting = state.add(*this);
    waiting.wire_ticket = header.ticket;
    waiting.missing = count;
    waiting.bytes = body.size();
    state.handler.request(waiting.ticket, id, std::move(*request), body);
  }

  void broken(Error error) override { state.gone(*this, error); }
};

Server::State::Waiting& Server::State::add(Caller& caller) {
  std::size_t slot = slots.size();
  if (free.empty()) {
    slots.emplace_back();
  } else {
    slot = free.back();
    free.pop_back();
  }
  Waiting& waiting = slots[slot];
  waiting.ticket = next_number++ << slot_bits | slot;
  waiting.caller = &caller;
  caller.unanswered.push_back(waiting);
  return waiting;
}

void Server::State::forget(Waiting& request) {
  release(request);
  request.caller->unanswered.erase(request.caller->unanswered.iterator_to(request));
  request.encoder.reset();
  free.push_back(slot_of(std::exchange(request.ticket, 0)));
}

void Server::State::release(Waiting& request) {
  if (std::exchange(request.held, false)) request.caller->pipe->release(request.bytes);
}

void Server::State::gone(Caller& caller, const Error& error) {
  // A peer that leaves is no news; one that sends nonsense is.
  if (error.code() != ErrorCode::rpc_fail) {
    log(LogLevel::warn, "rpc", "closed a connection",
        {{"caller", caller.name}, {"why", error.message()}});
  }
  const CallerId id = caller.id;
  callers.erase(id.value);
  handler.caller_gone(id);
}

void Server::State::refuse(Caller& caller, std::uint64_t wire_ticket, const Error& error) {
  const Status outcome = std::unexpected(error);
  const Status sent = caller.pipe->send(FrameKind::refusal, wire_ticket, [&](std::string& frame) {
    encode(std::span(&outcome, 1), frame);
  });
  LARDER_ASSERT(sent.has_value(), "one error fits into a frame");
}

Server::Server(Loop& loop, ServerConfig config, RequestHandler& handler)
    : state_(std::make_unique<State>(loop, config, handler)) {}
Server::~Server() { state_->callers.clear(); }

std::uint64_t Server::given_up() const { return state_->unfinished.given_up(); }

Status Server::has_room() const {
  const std::size_t callers = state_->callers.size();
  if (callers < state_->config.callers_max) return {};
  return failed(ErrorCode::busy, "there are " + std::to_string(callers) + " connections already");
}

void Server::adopt(Socket socket, Hello hello) {
  const CallerId id{state_->next_caller++};
  auto caller = std::make_unique<State::Caller>(*state_, id, std::move(hello.text));
  caller->pipe = std::make_shared<FramePipe>(state_->loop, std::move(socket), state_->config.limits,
                                             *caller, &state_->unfinished);
  const auto pipe = caller->pipe;
  state_->callers.emplace(id.value, std::move(caller));
  pipe->start();
}

void Server::set_epoch(Epoch epoch) { state_->epoch = epoch; }

void Server::answer(Ticket ticket, std::uint32_t index, const Answer& answer) {
  State::Waiting* request = state_->find(ticket);
  if (request == nullptr) return;
  LARDER_ASSERT(request->missing > 0, "each item is answered once");
  if (!request->encoder) {
    request->encoder.emplace(state_->epoch, std::min(request->missing, items_per_piece));
    state_->to_flush.push_back(ticket);
  }
  --request->missing;
  request->encoder->add(index, answer);
}

void Server::flush() {
  for (const Ticket ticket : state_->to_flush) {
    State::Waiting* request = state_->find(ticket);
    if (request == nullptr || !request->encoder) continue;
    const Status sent =
        request->caller->pipe->send(FrameKind::reply, request->wire_ticket,
                                    [&](std::string& frame) { request->encoder->finish(frame); });
    request->encoder.reset();
    if (!sent) {
      refuse(ticket, sent.error());
    } else if (request->missing == 0) {
      state_->forget(*request);
    }
  }
  state_->to_flush.clear();
}

void Server::refuse(Ticket ticket, const Error& error) {
  State::Waiting* request = state_->find(ticket);
  if (request == nullptr) return;
  state_->refuse(*request->caller, request->wire_ticket, error);
  state_->forget(*request);
}

void Server::expel(Ticket ticket, const Error& error) {
  State::Waiting* request = state_->find(ticket);
  if (request == nullptr) return;
  const auto pipe = request->caller->pipe;
  refuse(ticket, error);
  pipe->refuse(error);
}

void Server::hold(Ticket ticket) {
  State::Waiting* request = state_->find(ticket);
  if (request == nullptr || std::exchange(request->held, true)) return;
  request->caller->pipe->hold(request->bytes);
}

void Server::release(Ticket ticket) {
  if (State::Waiting* request = state_->find(ticket)) state_->release(*request);
}

void Server::command(CallerId caller, const Command& command) {
  const auto found = state_->callers.find(caller.value);
  if (found == state_->callers.end()) return;
  const Status sent = found->second->pipe->send(
      FrameKind::command, 0, [&](std::string& frame) { encode(command, frame); });
  LARDER_ASSERT(sent.has_value(), "a command is bounded");
}

}  // namespace larder::real
