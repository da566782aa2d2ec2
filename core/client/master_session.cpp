#include "core/client/master_session.h"

#include <algorithm>
#include <numeric>

#include "core/client/rules.h"
#include "core/client/waiting.h"

namespace larder {
namespace {

constexpr std::size_t lease_returns_max = items_per_call_max;
constexpr std::size_t bad_bytes_max = 1024;

// Leaves only the items at `positions`, ascending. A body without a list is one item.
void keep_items(RequestBody& body, const std::vector<std::size_t>& positions) {
  std::visit(
      [&](auto& request) {
        if constexpr (requires { request.items; }) {
          for (std::size_t i = 0; i < positions.size(); ++i) {
            request.items[i] = request.items[positions[i]];
          }
          request.items.erase(request.items.begin() + static_cast<std::ptrdiff_t>(positions.size()),
                              request.items.end());
        }
      },
      body);
}

}  // namespace

class MasterSession::Number {
 public:
  explicit Number(MasterSession& session) : session_(session), value_(++session.last_number_) {
    session_.unanswered_.push_back(value_);
  }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
  ~Number() { std::erase(session_.unanswered_, value_); }
  std::uint64_t value() const { return value_; }

 private:
  MasterSession& session_;
  std::uint64_t value_;
};

MasterSession::MasterSession(const ClientPorts& ports, const ClientConfig& config,
                             ClientCounters& counters)
    : ports_(ports), config_(config), counters_(counters), jitter_(config.seed) {
  terms_.object_bytes_max = object_bytes_max_default;
}

Duration MasterSession::delay(std::uint32_t attempt) {
  return retry_delay(attempt, jitter_.unit());
}

void MasterSession::return_lease(Epoch granted_by, const LeaseReturn& lease) {
  if (granted_by == epoch_ && lease_returns_.size() < lease_returns_max) {
    lease_returns_.push_back(lease);
  }
}

void MasterSession::report_bad_bytes(ExtentName extent, std::string_view key) {
  if (bad_bytes_.size() < bad_bytes_max) bad_bytes_.push_back({extent, std::string(key)});
}

void MasterSession::keep_bad_bytes(std::vector<OwnedBadBytes> reports) {
  for (OwnedBadBytes& report : reports) {
    if (bad_bytes_.size() < bad_bytes_max) bad_bytes_.push_back(std::move(report));
  }
}

// A master of a higher epoch than any before does not know this session, nor its leases.
Status MasterSession::take_epoch(Epoch shown) {
  if (shown < epoch_) {
    return failed(ErrorCode::epoch_superseded, "a master of epoch " + std::to_string(shown.value) +
                                                   " answered, but epoch " +
                                                   std::to_string(epoch_.value) + " leads");
  }
  if (shown > epoch_) {
    epoch_ = shown;
    open_ = false;
    lease_returns_.clear();
  }
  return {};
}

Task<Result<Reply>> MasterSession::send(Request& request, Time deadline) {
  const Number number(*this);
  std::vector<OwnedBadBytes> reports;
  request.header = {.session = config_.session,
                    .number = number.value(),
                    .lowest_unanswered = unanswered_.front(),
                    .highest_epoch = epoch_};
  if (!std::holds_alternative<OpenSession>(request.body)) {
    request.header.lease_returns = std::exchange(lease_returns_, {});
    reports = std::exchange(bad_bytes_, {});
    for (const OwnedBadBytes& report : reports) {
      request.header.bad_bytes.push_back({.extent = report.extent, .key = report.key});
    }
  }
  ++counters_.master_calls;
  sent_at_ = ports_.clock.now();
  Result<Reply> reply = co_await ports_.master.call(request, deadline);
  answers_ = reply.has_value();
  if (!reply) {
    keep_bad_bytes(std::move(reports));
    co_return reply;
  }
  if (Status status = take_epoch(reply->epoch); !status) {
    keep_bad_bytes(std::move(reports));
    co_return std::unexpected(std::move(status).error());
  }
  if (const std::size_t expected = answer_count(request.body); reply->answers.size() != expected) {
    co_return failed(ErrorCode::rpc_fail,
                     "the master gave " + std::to_string(reply->answers.size()) +
                         " answers where " + std::to_string(expected) + " were asked for");
  }
  co_return reply;
}

Task<Status> MasterSession::open(Time deadline) {
  Request request{
      .body = OpenSession{.tenant = config_.tenant, .client = config_.name, .host = config_.host}};
  Result<Reply> reply = co_await send(request, deadline);
  if (!reply) co_return std::unexpected(std::move(reply).error());
  Answer& answer = reply->answers.front();
  if (!answer) co_return std::unexpected(std::move(answer).error());
  const auto* opened = std::get_if<SessionOpened>(&*answer);
  if (!opened) co_return failed(ErrorCode::rpc_fail, "the master's answer is no SessionOpened");
  terms_ = *opened;
  open_ = true;
  ++times_opened_;
  ++counters_.sessions_opened;
  co_return Status();
}

Task<Result<Reply>> MasterSession::call_in_session(Request& request, Time deadline) {
  if (!open_) {
    Status opened = co_await open(deadline);
    if (!opened) co_return std::unexpected(std::move(opened).error());
  }
  const std::uint64_t sent_in = times_opened_;
  Result<Reply> reply = co_await send(request, deadline);
  // Another call may have opened it again while this answer was under way.
  const auto unknown = [](const Answer& answer) {
    return !answer && answer.error().code() == ErrorCode::client_not_found;
  };
  if (reply && sent_in == times_opened_ && std::ranges::any_of(reply->answers, unknown)) {
    open_ = false;
  }
  co_return reply;
}

Task<std::vector<MasterSession::Answered>> MasterSession::call(RequestBody body, Time deadline) {
  Request request{.body = std::move(body)};
  std::vector<std::size_t> asking(answer_count(request.body));  // item of each item of the request
  std::iota(asking.begin(), asking.end(), std::size_t{0});
  std::vector<Answered> answers(asking.size(), {.answer = Done{}});
  for (std::uint32_t attempt = 0; !asking.empty(); ++attempt) {
    const Time asked = ports_.clock.now();
    Result<Reply> reply = co_await call_in_session(request, deadline);
    std::vector<std::size_t> again;  // positions in the request
    bool unknown_session = false;
    for (std::size_t i = 0; i < asking.size(); ++i) {
      Answer answer = reply ? std::move(reply->answers[i]) : std::unexpected(reply.error());
      if (!answer && is_repeatable(answer.error().code())) {
        again.push_back(i);
        unknown_session |= answer.error().code() == ErrorCode::client_not_found;
      }
      answers[asking[i]] = {.answer = std::move(answer), .asked = asked, .epoch = epoch_};
    }
    const Time now = ports_.clock.now();
    // Opening the session again is the remedy itself; the first time nothing is to be waited for.
    const bool at_once = unknown_session && attempt == 0;
    const Time next = at_once ? now : now + delay(attempt);
    if (again.empty() || next >= deadline) break;
    keep_items(request.body, again);
    for (std::size_t i = 0; i < again.size(); ++i) asking[i] = asking[again[i]];
    asking.resize(again.size());
    if (!at_once) co_await Sleep(ports_.timers, next);
  }
  co_return answers;
}

Task<Status> MasterSession::close(Time deadline) {
  if (!open_) co_return Status();
  open_ = false;
  // Who closes because the master is silent has waited for it long enough: it is told, no more.
  if (!answers_) deadline = std::min(deadline, ports_.clock.now());
  Request request{.body = CloseSession{}};
  Result<Reply> reply = co_await send(request, deadline);
  if (!reply) co_return std::unexpected(std::move(reply).error());
  Answer& answer = reply->answers.front();
  // Not known is closed.
  if (!answer && answer.error().code() != ErrorCode::client_not_found) {
    co_return std::unexpected(std::move(answer).error());
  }
  co_return Status();
}

}  // namespace larder
