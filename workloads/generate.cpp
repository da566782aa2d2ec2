#include "workloads/generate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "core/base/random.h"

namespace larder::workloads {
namespace {

constexpr std::uint64_t us_per_ms = 1'000;
constexpr std::uint64_t cut_in_means = 8;
constexpr double session_gap_us_max = 1e15;
// Arrivals are nanoseconds in 63 bits.
constexpr std::uint64_t arrival_ms_max = 9'223'372'036'854;

// An exponentially distributed number of mean 1, in units of 2^-32, by von Neumann's comparison
// method (1951). std::log would do, but its last bit is not the same everywhere.
std::uint64_t exponential_q32(Random& random) {
  for (std::uint64_t whole = 0;; ++whole) {
    const std::uint64_t first = random.next() >> 32;
    std::uint64_t last = first;
    std::uint64_t run = 1;  // how many draws fell, each below the one before
    for (std::uint64_t draw = random.next() >> 32; draw < last; draw = random.next() >> 32) {
      last = draw;
      ++run;
    }
    if (run % 2 == 1) return (whole << 32) | first;
  }
}

std::uint64_t exponential(Random& random, std::uint64_t mean) {
  const auto product = static_cast<unsigned __int128>(exponential_q32(random)) * mean;
  return std::min(static_cast<std::uint64_t>(product >> 32), cut_in_means * mean);
}

std::uint64_t exponential_from_1(Random& random, std::uint64_t mean) {
  return std::max<std::uint64_t>(exponential(random, mean), 1);
}

std::uint64_t milliseconds(Duration duration) {
  return static_cast<std::uint64_t>(duration / std::chrono::milliseconds(1));
}

struct Session {
  std::uint32_t number = 0;
  SessionKind kind = SessionKind::chat;
  std::uint32_t system_prompt = 0;
  std::uint64_t requests_left = 0;
  std::uint64_t kept_tokens = 0;   // that the next input begins with
  std::uint64_t fresh_tokens = 0;  // ... and that follow them
  std::vector<BlockId> full;       // of the kept tokens, the full blocks that were inputs before
  std::optional<Duration> think_time;
  Random random{0};
};

class Generator final : public TraceReader {
 public:
  explicit Generator(const GeneratorOptions& options) : options_(options), starts_(options.seed) {
    double requests = 0;
    for (const SessionKind kind : session_kinds) {
      const SessionShape& shape = options_.shape(kind);
      weights_ += shape.weight;
      requests += static_cast<double>(shape.weight) * static_cast<double>(shape.requests);
    }
    const double per_second = static_cast<double>(weights_) * options_.requests_per_second;
    session_gap_us_ = static_cast<std::uint64_t>(
        std::clamp(requests * 1e6 / per_second, 1.0, session_gap_us_max));
  }

  Result<const Request*> next() override {
    if (made_ == options_.requests) return nullptr;
    while (due_.empty() || next_start_us_ / us_per_ms <= due_.top().first.first) start_session();
    const std::uint64_t now_ms = due_.top().first.first;
    if (now_ms > arrival_ms_max) {
      return failed(ErrorCode::invalid_params,
                    "the generated trace would last more than 292 years: raise the rate");
    }
    const std::uint32_t number = due_.top().second;
    due_.pop();
    ++made_;
    const auto at = sessions_.find(number);
    if (!send(at->second, now_ms)) sessions_.erase(at);
    return &request_;
  }

 private:
  // (when in ms, in which order), session: ties go to the one that was scheduled first.
  using Due = std::pair<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t>;

  void schedule(std::uint64_t when_ms, std::uint32_t session) {
    due_.push({{when_ms, scheduled_++}, session});
  }

  void start_session() {
    Session session;
    session.number = started_++;
    session.random = starts_.fork(session.number + 1);
    std::uint64_t draw = session.random.below(weights_);
    for (const SessionKind kind : session_kinds) {
      session.kind = kind;
      if (draw < options_.shape(kind).weight) break;
      draw -= options_.shape(kind).weight;
    }
    const SessionShape& shape = options_.shape(session.kind);
    session.system_prompt = static_cast<std::uint32_t>(session.random.below(shape.system_prompts));
    session.requests_left = exponential_from_1(session.random, shape.requests);
    // One token stays for what a request adds.
    const std::uint64_t room = options_.context_tokens_max - shape.system_tokens - 1;
    const std::uint64_t first =
        std::clamp<std::uint64_t>(exponential_from_1(session.random, shape.first_tokens), 1, room);
    session.kept_tokens = shape.system_tokens + (shape.accumulates ? 0 : first);
    session.fresh_tokens =
        shape.accumulates ? first : exponential_from_1(session.random, shape.added_tokens);
    const auto prompt = prompts_.find({session.kind, session.system_prompt});
    if (prompt != prompts_.end()) session.full = prompt->second;
    schedule(next_start_us_ / us_per_ms, session.number);
    sessions_.emplace(session.number, std::move(session));
    next_start_us_ += exponential(starts_, session_gap_us_);
  }

  // Makes request_ of the session's next request; false if that was its last one.
  bool send(Session& session, std::uint64_t now_ms) {
    const SessionShape& shape = options_.shape(session.kind);
    const std::uint64_t input =
        std::min(session.kept_tokens + session.fresh_tokens, options_.context_tokens_max);
    const std::uint64_t output = exponential_from_1(session.random, shape.output_tokens);
    blocks_ = session.full;
    while (blocks_.size() * options_.block_tokens < input) blocks_.push_back({next_id_++});
    request_ = {.arrival = std::chrono::milliseconds(now_ms),
                .speaker = Speaker{.session = session.number},
                .think_time = session.think_time,
                .input_tokens = input,
                .output_tokens = output,
                .block_tokens = options_.block_tokens,
                .blocks = blocks_};
    const std::uint64_t system_blocks = shape.system_tokens / options_.block_tokens;
    prompts_.try_emplace({session.kind, session.system_prompt}, blocks_.begin(),
                         blocks_.begin() + static_cast<std::ptrdiff_t>(system_blocks));

    if (shape.accumulates) session.kept_tokens = input + output;
    const std::uint64_t known = std::min(input, session.kept_tokens) / options_.block_tokens;
    session.full.assign(blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(known));
    session.fresh_tokens = exponential_from_1(session.random, shape.added_tokens);
    const std::uint64_t think_ms = exponential(session.random, milliseconds(shape.think_time));
    session.think_time = std::chrono::milliseconds(think_ms);
    if (--session.requests_left == 0 ||
        session.kept_tokens + session.fresh_tokens > options_.context_tokens_max) {
      return false;
    }
    schedule(now_ms + output * 1'000 / options_.output_tokens_per_second + think_ms,
             session.number);
    return true;
  }

  GeneratorOptions options_;
  Random starts_;
  std::uint64_t weights_ = 0;
  std::uint64_t session_gap_us_ = 0;
  std::uint64_t next_start_us_ = 0;
  std::uint32_t started_ = 0;
  std::uint64_t made_ = 0;
  std::uint64_t scheduled_ = 0;
  std::uint64_t next_id_ = 0;
  std::map<std::uint32_t, Session> sessions_;  // that are under way
  std::map<std::pair<SessionKind, std::uint32_t>, std::vector<BlockId>> prompts_;  // full blocks
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::vector<BlockId> blocks_;
  Request request_;
};

std::unexpected<Error> refuse(const std::string& why) {
  return failed(ErrorCode::invalid_params, "cannot generate a trace: " + why);
}

// Bounds that keep all sums far from 64 bits.
constexpr std::uint64_t mean_max = 1'000'000'000;
constexpr Duration think_time_max = std::chrono::days(30);

Status check_shape(SessionKind kind, const SessionShape& shape, const GeneratorOptions& options) {
  const std::string name = std::string(session_kind_name(kind)) + ": ";
  const std::string range = " must be from 1 to " + std::to_string(mean_max);
  const auto good = [](std::uint64_t mean) { return mean >= 1 && mean <= mean_max; };
  if (shape.system_prompts == 0) return refuse(name + "the number of system prompts is 0");
  if (!good(shape.requests)) return refuse(name + "requests in a session" + range);
  if (!good(shape.first_tokens)) return refuse(name + "tokens of the first input" + range);
  if (!good(shape.added_tokens)) return refuse(name + "tokens that a request adds" + range);
  if (shape.output_tokens > request_tokens_max / cut_in_means || shape.output_tokens == 0) {
    return refuse(name + "tokens of an answer must be from 1 to " +
                  std::to_string(request_tokens_max / cut_in_means));
  }
  if (shape.think_time < Duration{0} || shape.think_time > think_time_max) {
    return refuse(name + "the think time must be from 0 to 30 days");
  }
  if (options.context_tokens_max < 2 || shape.system_tokens > options.context_tokens_max - 2) {
    return refuse(name + "a system prompt of " + std::to_string(shape.system_tokens) +
                  " tokens leaves no room in a context of " +
                  std::to_string(options.context_tokens_max));
  }
  return {};
}

}  // namespace

std::string_view session_kind_name(SessionKind kind) {
  switch (kind) {
    case SessionKind::chat:
      return "chat";
    case SessionKind::agent:
      return "agent";
    case SessionKind::document:
      return "document";
  }
  return "";
}

SessionShape& GeneratorOptions::shape(SessionKind kind) {
  return const_cast<SessionShape&>(std::as_const(*this).shape(kind));
}

const SessionShape& GeneratorOptions::shape(SessionKind kind) const {
  switch (kind) {
    case SessionKind::chat:
      return chat;
    case SessionKind::agent:
      return agent;
    case SessionKind::document:
      return document;
  }
  return chat;
}

Result<std::unique_ptr<TraceReader>> generate_trace(const GeneratorOptions& options) {
  if (options.requests == 0) return refuse("it would have no requests");
  if (options.block_tokens == 0) return refuse("a block has 0 tokens");
  if (options.output_tokens_per_second == 0) return refuse("answers have a rate of 0 tokens/s");
  if (!(options.requests_per_second >= 1e-6 && options.requests_per_second <= 1e6)) {
    return refuse("the rate must be from 0.000001 to 1000000 requests per second");
  }
  if (options.context_tokens_max > request_tokens_max) {
    return refuse("a context holds at most " + std::to_string(request_tokens_max) + " tokens");
  }
  std::uint64_t weights = 0;
  for (const SessionKind kind : session_kinds) {
    weights += options.shape(kind).weight;
    if (options.shape(kind).weight == 0) continue;
    LARDER_CHECK(check_shape(kind, options.shape(kind), options));
  }
  if (weights == 0) return refuse("all kinds of sessions have weight 0");
  return std::make_unique<Generator>(options);
}

}  // namespace larder::workloads
