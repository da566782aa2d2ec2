#include "sim/replay/replay.h"

#include <optional>
#include <utility>

#include "core/eviction/policy.h"
#include "core/protocol/extent_shape.h"
#include "core/protocol/limits.h"
#include "sim/cluster/world.h"

namespace larder::sim {
namespace {

using namespace workloads;

constexpr const char* host_name = "demo";
constexpr Bytes simulated_bytes_max = 64_GiB;  // of the pool, where its bytes are real ones
constexpr Bytes node_bytes_max = 1024_TiB;

std::string bytes_text(Bytes bytes) { return std::to_string(bytes.value) + " bytes"; }

Status check(const ReplayConfig& config) {
  if (config.nodes == 0 || config.nodes > replay_nodes_max) {
    return failed(ErrorCode::invalid_params, "--nodes: " + std::to_string(config.nodes) +
                                                 " is not between 1 and " +
                                                 std::to_string(replay_nodes_max));
  }
  if (config.page_bytes == 0_B || config.page_bytes > object_bytes_max_default) {
    return failed(ErrorCode::invalid_params, "--page-bytes: " + bytes_text(config.page_bytes) +
                                                 " is not between 1 and " +
                                                 bytes_text(object_bytes_max_default));
  }
  if (config.memory > node_bytes_max) {
    return failed(ErrorCode::invalid_params, "--memory: " + bytes_text(config.memory) +
                                                 " are more than the largest node, " +
                                                 bytes_text(node_bytes_max));
  }
  if (extent_shape(config.page_bytes).length > config.memory) {
    return failed(ErrorCode::invalid_params,
                  "--memory: a page of " + bytes_text(config.page_bytes) +
                      " does not fit into a node of " + bytes_text(config.memory));
  }
  if (config.verify && config.memory * config.nodes > simulated_bytes_max) {
    return failed(ErrorCode::invalid_params,
                  "--memory: a simulated pool with bytes to verify holds at most " +
                      bytes_text(simulated_bytes_max) + ", not " +
                      bytes_text(config.memory * config.nodes) +
                      "; with --verify off there is no such limit");
  }
  if (const Status policy = check_policy(config.policy); !policy) {
    return failed(ErrorCode::invalid_params, "--policy: " + policy.error().facts().detail);
  }
  return {};
}

WorldConfig world_of(const ReplayConfig& config) {
  return {.seed = config.seed,
          // One piece for each page: nobody changes a page while it moves.
          .network = {.chunk = config.page_bytes},
          .checksum = config.verify,
          .master = {.config = {.policy = config.policy, .seed = config.seed}, .lock_step = true},
          .transport = {.content = config.verify, .shuffled = false, .hash_jitter = Duration(0)}};
}

// Sees nothing of a run that says itself what it read.
class NoObserver final : public Observer {};

class Pool {
 public:
  explicit Pool(const ReplayConfig& config)
      : world_(world_of(config), observer_),
        master_(world_.add_master(world_.add_host(host_name))) {
    for (std::size_t i = 0; i < config.nodes; ++i) mount(config.memory);
    client_ = &world_.add_client(world_.add_host(host_name), master_);
  }

  // Runs it to its end, and gives the time that it took.
  Duration run(Task<Done> task) {
    const Time begin = client_->now();
    client_->run(std::move(task));
    while (client_->operations() > 0) world_.kernel().step();
    return client_->now() - begin;
  }

  ClientProcess& client() { return *client_; }
  std::uint64_t state_hash() { return world_.kernel().hash(); }

 private:
  // The next one is not there before this one is shown: their order decides where pages go.
  void mount(Bytes memory) {
    const Bytes before = capacity();
    world_.add_node(world_.add_host(host_name), master_, {.segments = {memory}, .rack = ""});
    while (capacity() == before) world_.kernel().step();
  }
  Bytes capacity() { return master_.machine()->status(master_.now()).capacity; }

  NoObserver observer_;
  World world_;
  MasterProcess& master_;
  ClientProcess* client_;
};

Task<Done> serve(ClientProcess& process, TraceReader& trace, LockstepConfig config,
                 LockstepProgress progress, std::optional<Result<LockstepTotals>>& outcome) {
  outcome =
      co_await run_in_lockstep(*process.machine(), process, trace, config, std::move(progress));
  co_return Done{};
}

}  // namespace

Result<LockstepRecord> replay(TraceReader& trace, const ReplayConfig& config,
                              const LockstepProgress& progress) {
  LARDER_CHECK(check(config));
  Pool pool(config);
  const LockstepConfig lockstep{.page_bytes = config.page_bytes,
                                .requests_max = config.requests_max,
                                .warmup_requests = config.warmup_requests,
                                .content = config.verify};
  LockstepSeries series;
  const Time begin = pool.client().now();
  const auto note = [&](const LockstepTotals& totals) {
    series.add(totals, pool.client().now() - begin);
    return !progress || progress(totals);
  };
  std::optional<Result<LockstepTotals>> outcome;
  const Duration took = pool.run(serve(pool.client(), trace, lockstep, note, outcome));
  LARDER_TRY(const LockstepTotals totals, std::move(*outcome));
  return LockstepRecord{.world = std::string(simulated_world),
                        .page_bytes = config.page_bytes,
                        .verified = config.verify,
                        .nodes = config.nodes,
                        .memory = config.memory * config.nodes,
                        .policy = config.policy,
                        .seed = config.seed,
                        .totals = totals,
                        .state_hash = pool.state_hash(),
                        .virtual_s = std::chrono::duration<double>(took).count(),
                        .series = series.points()};
}

}  // namespace larder::sim
