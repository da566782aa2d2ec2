#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cmath>
#include <deque>
#include <utility>
#include <vector>

#include "core/base/assert.h"
#include "sim/kernel/event.h"
#include "sim/serving/arrivals.h"

namespace larder::sim {
namespace {

using workloads::Request;
using workloads::Speaker;

constexpr std::uint32_t turn_label = 0x5e7;

class ClosedLoop final : public Arrivals {
 public:
  ClosedLoop(Kernel& kernel, const ClosedLoopRules& rules, Taker& taker)
      : kernel_(kernel), rules_(rules), taker_(taker) {
    LARDER_ASSERT(std::isfinite(rules.speed) && rules.speed > 0);
    LARDER_ASSERT(rules.sessions_at_once.value_or(1) > 0);
  }

  Status begin(workloads::TraceReader& reader) override {
    status_ = read(reader);
    if (!status_) return status_;
    left_ = turns_.size();
    for (Agent& agent : agents_) find_anchor(agent);
    for (std::uint32_t session = 0; session < sessions_.size(); ++session) {
      if (rules_.sessions_at_once && session >= *rules_.sessions_at_once) break;
      begin_session();
    }
    return status_;
  }

  void ended(const Speaker& speaker) override {
    Agent& agent = agents_[numbers_.at(key(speaker))];
    Session& session = sessions_[agent.session];
    if (--session.left == 0 && next_session_ < sessions_.size()) begin_session();
    if (agent.next == agent.turns.size()) return;
    const Request& before = turns_[agent.turns[agent.next - 1]].request;
    const Request& next = turns_[agent.turns[agent.next]].request;
    const Instant now = kernel_.now();
    kernel_.arm(agent,
                next.think_time
                    ? later(now, scaled(*next.think_time))
                    : std::max(now, later(agent.asked, scaled(next.arrival - before.arrival))));
  }

  bool done() const override { return left_ == 0 || !status_; }
  const Status& status() const override { return status_; }

 private:
  struct Turn {
    Request request;  // its blocks are in `blocks_`
    std::size_t first_block = 0;
    std::vector<std::uint32_t> begins;  // agents that begin after it
  };
  struct Agent final : Event {
    explicit Agent(ClosedLoop& owner) : Event(turn_label), loop(owner) {}
    void fire() override { loop.take(*this); }

    ClosedLoop& loop;
    std::uint32_t session = 0;
    std::uint32_t number = 0;          // among all
    std::vector<std::uint32_t> turns;  // in their order
    std::size_t next = 0;
    Instant asked{};  // the last one
  };
  struct Session {
    std::vector<std::uint32_t> agents;  // that begin with it
    Duration began{0};                  // in the trace
    std::uint64_t left = 0;             // requests that have not ended
  };

  static std::uint64_t key(const Speaker& speaker) {
    return std::uint64_t{speaker.session} << 32 | speaker.agent;
  }
  Duration scaled(Duration time) const { return sped_up(time, rules_.speed); }

  Status read(workloads::TraceReader& reader) {
    boost::unordered_flat_map<std::uint32_t, std::uint32_t> sessions;
    while (true) {
      LARDER_TRY(const Request* request, reader.next());
      if (request == nullptr) return {};
      if (!request->speaker) {
        return failed(ErrorCode::invalid_params,
                      "the trace does not tell the sessions of its requests, so that it cannot be "
                      "replayed in a closed loop");
      }
      LARDER_CHECK(check_arrival(turns_.size(), scaled(request->arrival)));
      LARDER_CHECK(check_arrival(turns_.size(), scaled(request->think_time.value_or(Duration(0)))));
      const auto [session, new_session] = sessions.try_emplace(
          request->speaker->session, static_cast<std::uint32_t>(sessions_.size()));
      if (new_session) sessions_.push_back({.began = request->arrival});
      const auto [number, new_agent] =
          numbers_.try_emplace(key(*request->speaker), static_cast<std::uint32_t>(agents_.size()));
      if (new_agent) {
        Agent& agent = agents_.emplace_back(*this);
        agent.session = session->second;
        agent.number = number->second;
      }
      agents_[number->second].turns.push_back(static_cast<std::uint32_t>(turns_.size()));
      ++sessions_[session->second].left;
      turns_.push_back({.request = *request, .first_block = blocks_.size()});
      blocks_.insert(blocks_.end(), request->blocks.begin(), request->blocks.end());
    }
  }

  // A sub-agent begins after the last request of the session's own agent before it.
  void find_anchor(Agent& agent) {
    const std::uint32_t first = agent.turns.front();
    const Speaker speaker = *turns_[first].request.speaker;
    const auto own = numbers_.find(key({.session = speaker.session, .agent = 0}));
    if (speaker.agent != 0 && own != numbers_.end()) {
      const std::vector<std::uint32_t>& turns = agents_[own->second].turns;
      const auto behind = std::ranges::lower_bound(turns, first);
      if (behind != turns.begin()) {
        turns_[*std::prev(behind)].begins.push_back(agent.number);
        return;
      }
    }
    sessions_[agent.session].agents.push_back(agent.number);
  }

  void begin_session() {
    const Session& session = sessions_[next_session_++];
    const Instant began =
        rules_.sessions_at_once ? kernel_.now() : later(Instant{}, scaled(session.began));
    for (const std::uint32_t number : session.agents) {
      begin_agent(agents_[number], began, session.began);
    }
  }

  // As long after `since` as its first request is in the trace after `trace_since`.
  void begin_agent(Agent& agent, Instant since, Duration trace_since) {
    const Request& first = turns_[agent.turns.front()].request;
    kernel_.arm(agent, later(since, scaled(first.arrival - trace_since)));
  }

  void take(Agent& agent) {
    if (!status_) return;
    const std::uint32_t number = agent.turns[agent.next++];
    Turn& turn = turns_[number];
    agent.asked = kernel_.now();
    for (const std::uint32_t begins : turn.begins) {
      begin_agent(agents_[begins], agent.asked, turn.request.arrival);
    }
    --left_;
    Request request = turn.request;
    const std::size_t end =
        number + 1 < turns_.size() ? turns_[number + 1].first_block : blocks_.size();
    request.blocks = std::span(blocks_).subspan(turn.first_block, end - turn.first_block);
    status_ = taker_.arrive(request, number);
  }

  Kernel& kernel_;
  ClosedLoopRules rules_;
  Taker& taker_;
  std::vector<Turn> turns_;  // in the order of the trace
  std::vector<workloads::BlockId> blocks_;
  std::deque<Agent> agents_;
  boost::unordered_flat_map<std::uint64_t, std::uint32_t> numbers_;  // of agents, by speaker
  std::vector<Session> sessions_;
  std::size_t next_session_ = 0;
  std::uint64_t left_ = 0;  // that have not come
  Status status_;
};

}  // namespace

std::unique_ptr<Arrivals> closed_loop(Kernel& kernel, const ClosedLoopRules& rules,
                                      Arrivals::Taker& taker) {
  return std::make_unique<ClosedLoop>(kernel, rules, taker);
}

}  // namespace larder::sim
