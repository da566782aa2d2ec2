#include "real/rpc/client_link.h"

#include <coroutine>
#include <map>
#include <vector>

#include "proto/codec.h"
#include "real/rpc/log.h"
#include "real/rpc/master_connection.h"

namespace larder::real {
namespace {

constexpr Duration say_waiting_after = std::chrono::milliseconds(500);

// One call under way. Lives in the frame of its coroutine.
struct Pending {
  Pending(std::uint64_t number, const Request& asked) : ticket(number), request(asked) {
    await_all();
  }

  // A master that is asked again answers everything again, and may be another one.
  void await_all() {
    missing = answer_count(request.body);
    answered.assign(missing, false);
    reply.answers.assign(missing, Answer());
  }

  std::uint64_t ticket;
  const Request& request;
  Reply reply;
  std::vector<bool> answered;
  std::size_t missing = 0;
  Time began{};
  Time deadline{};
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
      if (answer && !answers(request.body, *answer)) {
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
  State(Loop& l, LinkConfig config)
      : loop(l), connection(l, std::move(config), *this), patience(l, [this] { say_waiting(); }) {}

  Loop& loop;
  std::map<std::uint64_t, Pending*> pending;  // by ticket, so in the order of the calls
  std::uint64_t next_ticket = 1;
  MasterConnection connection;
  // Whoever waits for a master that is not there hears of it while it waits, once until it is
  // there.
  Alarm patience;
  bool told_waiting = false;

  void may_wait() {
    if (!std::exchange(told_waiting, true)) patience.set(loop.now() + say_waiting_after);
  }

  void say_waiting() {
    if (connection.is_up() || pending.empty()) {
      told_waiting = false;
      return;
    }
    Time last{};
    for (const auto& [ticket, call] : pending) last = std::max(last, call->deadline);
    const auto& cause = connection.last_error();
    const auto left = std::chrono::ceil<std::chrono::seconds>(last - loop.now());
    log(LogLevel::warn, "rpc", "no connection to the master yet, still trying",
        {{"endpoint", connection.name()},
         {"for", std::to_string(left.count()) + " s"},
         {"why", cause ? cause->facts().detail : "no answer so far"}});
  }

  bool wants_connection() const override { return !pending.empty(); }

  void up() override {
    patience.cancel();
    told_waiting = false;
    std::vector<std::pair<std::uint64_t, Error>> refused;
    for (const auto& [ticket, call] : pending) {
      call->await_all();
      if (Status sent = send(*call); !sent) refused.emplace_back(ticket, sent.error());
    }
    // Who is resumed may make new calls and destroy others.
    for (const auto& [ticket, error] : refused) {
      const auto found = pending.find(ticket);
      if (found != pending.end()) finish(*found->second, std::unexpected(error));
    }
  }

  Status send(const Pending& call) {
    return connection.send(FrameKind::request, call.ticket,
                           [&](std::string& frame) { encode(call.request, frame); });
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
    log(LogLevel::warn, "rpc", "the master sent what cannot be right",
        {{"endpoint", connection.name()}, {"what", std::string(what)}});
    connection.give_up(Error(ErrorCode::rpc_fail,
                             "the master at " + connection.name() + " sent " + std::string(what)));
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

  // False: it has ended.
  bool start(Pending& call) {
    call.began = loop.now();
    if (!connection.is_up()) may_wait();
    if (connection.is_up()) {
      if (Status sent = send(call); !sent) {
        call.result = std::unexpected(std::move(sent).error());
        return false;
      }
    }
    pending.emplace_hint(pending.end(), call.ticket, &call);
    if (!connection.is_up()) connection.want();
    return true;
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
    bool await_suspend(std::coroutine_handle<> waiter) {
      call.waiter = waiter;
      call.deadline = deadline;
      if (!state.start(call)) return false;
      alarm.set(deadline);
      return true;
    }
    void await_resume() const noexcept {}
  };
};

ClientLink::ClientLink(Loop& loop, LinkConfig config)
    : state_(std::make_unique<State>(loop, std::move(config))) {}
ClientLink::~ClientLink() = default;

Task<Result<Reply>> ClientLink::call(const Request& request, Time deadline) {
  Pending pending(state_->next_ticket++, request);
  co_await State::Ended(*state_, pending, deadline);
  co_return std::move(*pending.result);
}

}  // namespace larder::real
