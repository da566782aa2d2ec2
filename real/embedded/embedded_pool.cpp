#include "real/embedded/embedded_pool.h"

#include <coroutine>

#include "core/base/assert.h"
#include "real/system/machine.h"

namespace larder::real {
namespace {

constexpr const char* place = "this process";
constexpr std::uint64_t memory_alignment = 4096;
constexpr Duration for_ever = std::chrono::hours(24 * 365);
constexpr Duration patience = std::chrono::seconds(30);  // for the node's first registration

MasterConfig master_config(const EmbeddedOptions& options) {
  MasterConfig config;
  config.policy = options.policy;
  config.timing.hidden_after_silence = for_ever;
  config.timing.node_lost = for_ever;
  config.timing.session_lost = for_ever;
  config.timing.retirement_sick = for_ever;
  config.timing.retirement_lost = for_ever;
  config.timing.stale_heartbeat = for_ever;
  return config;
}

}  // namespace

// Lives in the frame of its coroutine.
struct EmbeddedPool::Pending {
  Reply reply;
  std::size_t missing = 0;
  bool late = false;
  std::coroutine_handle<> waiter;
};

class EmbeddedPool::Ended {
 public:
  Ended(EmbeddedPool& pool, Pending& pending, const Request& request, Time deadline)
      : pool_(pool),
        pending_(pending),
        request_(request),
        deadline_(deadline),
        ticket_(pool.next_ticket_++),
        alarm_(pool.loop_, [this] {
          pending_.late = true;
          pending_.waiter.resume();
        }) {}
  ~Ended() { pool_.clients_.erase(ticket_); }

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiter) {
    pending_.waiter = waiter;
    alarm_.set(deadline_);
    pool_.clients_.emplace(ticket_, &pending_);
    pool_.ask(ticket_, request_);
  }
  void await_resume() const noexcept {}

 private:
  EmbeddedPool& pool_;
  Pending& pending_;
  const Request& request_;
  Time deadline_;
  Ticket ticket_;
  Alarm alarm_;
};

Result<std::unique_ptr<EmbeddedPool>> EmbeddedPool::make(Loop& loop,
                                                         const EmbeddedOptions& options) {
  std::unique_ptr<EmbeddedPool> pool(new EmbeddedPool(loop));
  LARDER_CHECK(pool->start(options));
  return pool;
}

EmbeddedPool::EmbeddedPool(Loop& loop)
    : loop_(loop), effects_(*this), alarm_(loop, [this] {
        master_->tick(loop_.now(), effects_);
        carry_out();
      }) {}

EmbeddedPool::~EmbeddedPool() { *alive_ = false; }

Status EmbeddedPool::start(const EmbeddedOptions& options) {
  const Bytes memory_size = options.memory.rounded_down(memory_alignment);
  if (memory_size == 0_B) {
    return failed(ErrorCode::invalid_params, std::to_string(options.memory.value) +
                                                 " bytes of memory are less than one page of " +
                                                 std::to_string(memory_alignment));
  }
  Random random = system_random();
  // Nothing was there before, which a master with a state directory would know: no recovery.
  LARDER_TRY(master_,
             Master::make(loop_.now(), master_config(options),
                          {.epoch = {1}, .instance = draw_id<InstanceId>(random)},
                          {.durable = true, .recovered_epoch = {}, .known = {}, .lost = {}}));
  NodeHostUser& user = *this;
  const NodeConfig node{.name = "embedded", .endpoint = place, .host = machine_name(), .rack = {}};
  host_ = std::make_unique<NodeHost>(loop_, node, draw_id<IncarnationId>(random), user);
  LARDER_TRY(auto memory, MappedMemory::make(memory_size, {}));
  LARDER_CHECK(host_->add_segment({.id = draw_id<SegmentId>(random),
                                   .name = "embedded/0",
                                   .kind = SegmentKind::memory,
                                   .size = memory_size,
                                   .numa_node = -1},
                                  std::move(memory)));
  transport_ = std::make_unique<LocalTransport>(loop_, *host_);
  host_->use([](Node& it, Time now, NodeEffects& effects) { it.connected(now, effects); });
  const auto ready = [this] {
    return host_->use([](Node& it, Time now, NodeEffects&) { return it.status(now).reported; });
  };
  loop_.run_until(ready, loop_.now() + patience);
  LARDER_ASSERT(ready(), "the node of an embedded pool was not taken in");
  return {};
}

Task<Result<Reply>> EmbeddedPool::call(const Request& request, Time deadline) {
  Pending pending;
  pending.missing = answer_count(request.body);
  pending.reply.answers.resize(pending.missing);
  pending.reply.epoch = master_->epoch();
  const Time began = loop_.now();
  co_await Ended(*this, pending, request, deadline);
  if (pending.late) {
    co_return std::unexpected(Error(ErrorCode::rpc_timeout, "no answer from the master")
                                  .with_endpoint(place)
                                  .with_elapsed(loop_.now() - began));
  }
  co_return std::move(pending.reply);
}

void EmbeddedPool::ask(Ticket ticket, const Request& request) {
  master_->apply(loop_.now(), ticket, request, effects_);
  carry_out();
}

// Whoever waits is told from the loop, when the master is at rest.
void EmbeddedPool::answer(Ticket ticket, std::uint32_t index, const Answer& answer) {
  if (const auto node = nodes_.find(ticket); node != nodes_.end()) {
    const std::uint64_t number = node->second;
    nodes_.erase(node);
    loop_.post([this, alive = alive_, number, answer] {
      if (!*alive) return;
      host_->use([&](Node& it, Time now, NodeEffects& effects) {
        it.answered(now, number, answer, effects);
      });
    });
    return;
  }
  const auto client = clients_.find(ticket);
  if (client == clients_.end()) return;
  Pending& pending = *client->second;
  pending.reply.answers[index] = answer;
  if (--pending.missing > 0) return;
  loop_.post([this, alive = alive_, ticket] {
    if (!*alive) return;
    const auto ended = clients_.find(ticket);
    if (ended != clients_.end()) ended->second->waiter.resume();
  });
}

void EmbeddedPool::carry_out() {
  for (const Command& command : effects_.commands) {
    loop_.post([this, alive = alive_, command] {
      if (!*alive) return;
      host_->use(
          [&](Node& it, Time now, NodeEffects& effects) { it.command(now, command, effects); });
    });
  }
  effects_.clear();
  if (const std::optional<Time> due = master_->next_deadline()) {
    alarm_.set(*due);
  } else {
    alarm_.cancel();
  }
}

void EmbeddedPool::send(std::uint64_t ticket, const Request& request) {
  const Ticket asked = next_ticket_++;
  nodes_.emplace(asked, ticket);
  ask(asked, request);
}

// The process stood still for so long that the node gave an answer up.
void EmbeddedPool::reconnect() {
  nodes_.clear();
  host_->use([](Node& it, Time now, NodeEffects& effects) {
    it.disconnected(now);
    it.connected(now, effects);
  });
}

void EmbeddedPool::finished() {
  LARDER_ASSERT(false, "the master of an embedded pool gave its node up");
}

}  // namespace larder::real
