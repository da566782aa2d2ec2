#include "real/rpc/client_link.h"

#include <coroutine>
#include <map>
#include <vector>

#include "proto/codec.h"
#include "real/rpc/log.h"
#include "real/rpc/master_connection.h"

namespace larder::real {
namespace {

// One call under way. Lives in the frame of its coroutine.
struct Pending {
  Pending(std::uint64_t ticket, std::string frame, const RequestBody& body)
      : ticket(ticket), frame(std::move(frame)), body(body), missing(answer_count(body)) {
    answered.resize(missing, false);
    reply.answers.resize(missing);
  }

  std::uint64_t ticket;
  std::string frame;
  const RequestBody& body;
  Reply reply;
  std::vector<bool> answered;
  std::size_t missing;
  Time began{};
  std::optional<Result<Reply>> result;
  std::coroutine_handle<> waiter;

  // Takes some of the answers. Errors: invalid_params, if they are none to this request.
  Status take(ReplyPart part) {
    for (std::size_t i = 0; i < part.answers.size(); ++i) {
      const std::uint32_t index = part.indices[i];
      Answer& answer = part.answers[i];
      if (index >= answered.size() || answered[index]) {
        return failed(ErrorCode::invalid_params, "an answer that nobody waits for");
      }
      if (answer && !answers(body, *answer)) {
        return failed(ErrorCode::invalid_params, "an answer of another kind than asked for");
      }
      answered[index] = true;
      reply.answers[index] = std::move(answer);
      --missing;
    }
    reply.epoch = part.epoch;
    return {};
  }
};

}  // namespace

struct ClientLink::State final : MasterConnection::User {
  State(Loop& l, LinkConfig config) : loop(l), connection(l, std::move(config), *this) {}

  Loop& loop;
  std::map<std::uint64_t, Pending*> pending;  // by ticket, so in the order of the calls
  std::uint64_t next_ticket = 1;
  RateLimitedLog log;
  MasterConnection connection;

  bool wants_connection() const override { return !pending.empty(); }

  void up() override {
    for (const auto& [ticket, call] : pending) connection.send(call->frame);
  }

  void down(const Error& error) override {
    if (error.code() != ErrorCode::invalid_version) return;
    fail_all(error);  // waiting would not help
  }

  void frame(const FrameHeader& header, FrameBytes body) override {
    if (header.kind == FrameKind::refusal) return refused(header.ticket, body);
    if (header.kind != FrameKind::reply) return nonsense("a frame that is no answer");
    auto part = decode_reply(body);
    if (!part) return nonsense(part.error().facts().detail);
    const auto found = pending.find(header.ticket);
    if (found == pending.end()) return;  // it came too late for its caller
    Pending& call = *found->second;
    if (const Status taken = call.take(std::move(*part)); !taken) {
      return nonsense(taken.error().facts().detail);
    }
    connection.useful();
    if (call.missing == 0) finish(call, std::move(call.reply));
  }

  void refused(std::uint64_t ticket, FrameBytes body) {
    auto outcomes = decode_outcomes(body);
    if (!outcomes || outcomes->size() != 1 || outcomes->front()) {
      return nonsense("a refusal without its error");
    }
    const auto found = pending.find(ticket);
    if (found != pending.end()) finish(*found->second, std::unexpected(outcomes->front().error()));
  }

  void nonsense(std::string_view what) {
    std::string line = "the master at " + connection.name() + " sent " + std::string(what);
    log.warn(loop.now(), line);
    connection.give_up(Error(ErrorCode::rpc_fail, std::move(line)));
  }

  void too_late(Pending& call) {
    const Duration elapsed = loop.now() - call.began;
    const auto& cause = connection.last_error();
    Error error = connection.is_up() || !cause
                      ? Error(ErrorCode::rpc_timeout, "no answer from the master")
                      : Error(ErrorCode::rpc_fail, cause->facts().detail);
    finish(call, std::unexpected(
                     std::move(error).with_endpoint(connection.name()).with_elapsed(elapsed)));
  }

  void fail_all(const Error& error) {
    // Who is resumed may make new calls and destroy others.
    std::vector<std::uint64_t> tickets;
    for (const auto& [ticket, call] : pending) tickets.push_back(ticket);
    for (const std::uint64_t ticket : tickets) {
      const auto found = pending.find(ticket);
      if (found != pending.end()) finish(*found->second, std::unexpected(error));
    }
  }

  void start(Pending& call) {
    call.began = loop.now();
    pending.emplace(call.ticket, &call);
    if (connection.is_up()) {
      connection.send(call.frame);
    } else {
      connection.want();
    }
  }

  void finish(Pending& call, Result<Reply> result) {
    pending.erase(call.ticket);
    call.result = std::move(result);
    call.waiter.resume();
  }

  // Awaits the end of one call. Destroyed with its coroutine, it forgets the call.
  struct Ended {
    Ended(State& s, Pending& c, Time d)
        : state(s), call(c), deadline(d), alarm(s.loop, [this] { state.too_late(call); }) {}
    ~Ended() { state.pending.erase(call.ticket); }

    State& state;
    Pending& call;
    Time deadline;
    Alarm alarm;

    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waiter) {
      call.waiter = waiter;
      alarm.set(deadline);
      state.start(call);
    }
    void await_resume() const noexcept {}
  };
};

ClientLink::ClientLink(Loop& loop, LinkConfig config)
    : state_(std::make_unique<State>(loop, std::move(config))) {}
ClientLink::~ClientLink() = default;

Task<Result<Reply>> ClientLink::call(const Request& request, Time deadline) {
  std::string frame = open_frame();
  encode(request, frame);
  const std::uint64_t ticket = state_->next_ticket++;
  if (Status closed = close_frame(FrameKind::request, ticket, frame); !closed) {
    co_return std::unexpected(closed.error());
  }
  Pending pending(ticket, std::move(frame), request.body);
  co_await State::Ended(*state_, pending, deadline);
  co_return std::move(*pending.result);
}

}  // namespace larder::real
