#include "sim/calibration/simulated_workload.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/assert.h"
#include "core/protocol/extent_shape.h"
#include "sim/capacity/capacity_pool.h"

namespace larder::sim {
namespace {

constexpr std::uint64_t first_new = 1'000'000;  // number of a page
constexpr std::uint64_t warm_calls = 2;         // of each client
constexpr std::uint64_t items_simulated = 2'000;
constexpr std::uint64_t calls_min = 8;
constexpr std::uint64_t calls_max = 64;

Hardware one_host(Hardware hardware, const CostValues& costs, CalibratedTransport transport) {
  HardwareHost& host = hardware.hosts.front();
  LARDER_ASSERT(hardware.hosts.size() == 1 && host.cores > 0);
  host.count = 1;
  if (transport == CalibratedTransport::local) host.cores = 1;
  set_tcp_costs(host.costs, costs);
  return hardware;
}

// Which of them is read makes no difference here: as many as are read at once.
std::uint64_t stored_values(const Workload& workload) {
  return std::max<std::uint64_t>(8, std::uint64_t{workload.clients} * workload.batch);
}

std::uint64_t calls_of(const Workload& workload) {
  const std::uint64_t together = std::uint64_t{workload.clients} * workload.batch;
  // Of mixed ones whole rounds.
  return std::clamp(items_simulated / together, calls_min, calls_max) / 4 * 4;
}

PoolPage page_of(std::uint64_t number) { return {.id = number, .parent = number, .depth = 0}; }

// The machine and its pool.
class World {
 public:
  World(const Hardware& machine, const CostValues& costs, const Workload& workload,
        std::uint64_t seed)
      : kernel_(seed),
        topology_(Topology::make(one_host(machine, costs, workload.transport)).value()),
        fabric_(kernel_, topology_, StripeRules{}),
        memory_(topology_.parts_of(0, PartKind::dram).front()) {
    PoolConfig config{
        .objects = {workload.size},
        .costs = pool_costs(costs),
        .threads = {.client =
                        workload.transport == CalibratedTransport::local ? 1 : workload.clients,
                    .node = 1,
                    .master_host = 0},
        .transport = Move::Transport::tcp,
        .batch_pages = workload.batch,
        .batches_under_way = 1};
    // Nothing has to leave.
    const ExtentShape shape = extent_shape(workload.size);
    const std::uint64_t calls = (warm_calls + calls_of(workload)) * workload.clients * 4;
    config.nodes.push_back({.memory = memory_,
                            .capacity = shape.length.rounded_up(shape.alignment) *
                                        (2 * (stored_values(workload) + calls * workload.batch))});
    pool_ = CapacityPool::make(kernel_, topology_, &fabric_, config).value();
  }

  Kernel& kernel() { return kernel_; }
  CapacityPool& pool() { return *pool_; }
  PartId memory() const { return memory_; }

 private:
  Kernel kernel_;
  Topology topology_;
  Fabric fabric_;
  PartId memory_;
  std::unique_ptr<CapacityPool> pool_;
};

class Client final : PagePool::Read, PagePool::Put {
 public:
  Client(World& world, const Workload& workload, std::uint32_t number)
      : world_(world),
        workload_(workload),
        next_stored_(std::uint64_t{number} * workload.batch),
        next_new_(first_new * (number + 1)) {}

  void begin_call() {
    const std::uint64_t number = calls_.size();
    const bool puts = workload_.operation == Workload::Operation::put ||
                      (workload_.operation == Workload::Operation::mixed && number % 4 == 3);
    began_ = world_.kernel().now();
    pages_.clear();
    for (std::uint32_t i = 0; i < workload_.batch; ++i) {
      pages_.push_back(page_of(puts ? next_new_++ : next_stored_++ % stored_values(workload_)));
    }
    if (puts) {
      world_.pool().put(world_.memory(), pages_, *this);
    } else {
      world_.pool().read(world_.memory(), pages_, *this);
    }
  }
  // All values that are read.
  void store() {
    stores_ = true;
    pages_.clear();
    for (std::uint64_t i = 0; i < stored_values(workload_); ++i) pages_.push_back(page_of(i));
    world_.pool().put(world_.memory(), pages_, *this);
  }

  bool stores() const { return stores_; }
  std::uint64_t calls() const { return calls_.size(); }
  void append_calls(Instant from, std::vector<TimedCall>& calls) const {
    for (const auto& [begin, end] : calls_) {
      calls.push_back({.begin = begin - from, .end = end - from});
    }
  }

 private:
  struct Call {
    Instant begin;
    Instant end;
  };

  void arrived(std::size_t) override {}
  void ended(MissReason) override { next(); }
  void ended() override {
    if (std::exchange(stores_, false)) return;
    next();
  }
  void next() {
    calls_.push_back({.begin = began_, .end = world_.kernel().now()});
    begin_call();
  }

  World& world_;
  const Workload& workload_;
  std::uint64_t next_stored_;
  std::uint64_t next_new_;
  bool stores_ = false;
  Instant began_{};
  std::vector<PoolPage> pages_;
  std::vector<Call> calls_;
};

}  // namespace

WorkloadRun simulate(const Hardware& machine, const CostValues& costs, const Workload& workload,
                     std::uint64_t seed) {
  World world(machine, costs, workload, seed);
  std::vector<std::unique_ptr<Client>> clients;
  for (std::uint32_t number = 0; number < workload.clients; ++number) {
    clients.push_back(std::make_unique<Client>(world, workload, number));
  }
  const auto run_until = [&](auto&& condition) {
    while (!condition()) world.kernel().step();
  };
  clients[0]->store();
  run_until([&] { return !clients[0]->stores(); });
  for (const auto& client : clients) client->begin_call();
  const auto all_have = [&](std::uint64_t calls) {
    return std::ranges::all_of(clients,
                               [&](const auto& client) { return client->calls() >= calls; });
  };
  run_until([&] { return all_have(warm_calls); });
  const Instant begin = world.kernel().now();
  run_until([&] { return all_have(warm_calls + calls_of(workload)); });
  std::vector<TimedCall> calls;
  for (const auto& client : clients) client->append_calls(begin, calls);
  return summary(calls, workload.size * workload.batch, world.kernel().now() - begin);
}

}  // namespace larder::sim
