// The control plane over loopback TCP: a client's link and a master with its node, each a thread of
// its own, as three processes of one machine would be. Meant for two CPUs: the node is idle.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/base/random.h"
#include "real/daemon/master_daemon.h"
#include "real/daemon/node_daemon.h"
#include "real/rpc/client_link.h"
#include "tests/bench/report.h"

namespace larder::bench {
namespace {

using namespace real;
using namespace std::chrono_literals;

constexpr std::size_t objects = 1 << 18;
constexpr std::size_t batch = 128;  // items of one call, where there are several

void must(bool good, const std::string& what) {
  if (good) return;
  std::fprintf(stderr, "rpc_bench: %s\n", what.c_str());
  std::abort();
}

std::string key_of(std::size_t number) {
  std::string text = std::to_string(number);
  return std::string(64 - text.size(), 'k') + text;
}

// A loop with a thread.
class Served {
 public:
  ~Served() { stop(); }
  Loop& loop() { return loop_; }
  void start() {
    thread_ = std::thread([this] { loop_.run(); });
  }
  void stop() {
    loop_.stop();
    if (thread_.joinable()) thread_.join();
  }

 private:
  Loop loop_;
  std::thread thread_;
};

class Pool {
 public:
  Pool() {
    spdlog::set_level(spdlog::level::warn);
    const auto fails = [](Error error) { must(false, error.message()); };
    auto master =
        MasterDaemon::make(master_thread_.loop(),
                           {.listen = {"127.0.0.1", 0}, .config = {.watermarks = {1, 1}}}, fails);
    must(master.has_value(), "no master");
    master_ = std::move(*master);
    master_thread_.start();
    auto node = NodeDaemon::make(
        node_thread_.loop(),
        {.master = master_->endpoint(), .listen = {"127.0.0.1", 0}, .memory = 512_MiB}, {},
        {.ready = [this] { ready_ = true; }, .ended = fails});
    must(node.has_value(), "no node");
    node_ = std::move(*node);
    node_thread_.loop().run_until([&] { return ready_; }, node_thread_.loop().now() + 10s);
    must(ready_, "the node was not taken in");
    node_thread_.start();
    link_ = std::make_unique<ClientLink>(loop_,
                                         LinkConfig{.master = master_->endpoint(), .who = "bench"});
    run(1, 1, [&](std::size_t) { return one_call(OpenSession{.tenant = "t"}); });
  }
  ~Pool() {
    link_.reset();
    node_thread_.stop();
    master_thread_.stop();
  }

  // `calls` calls, of which at most `depth` are under way at any time. make(n) is the n-th one.
  template <class Make>
  void run(std::size_t depth, std::size_t calls, Make make) {
    std::size_t next = 0;
    std::size_t running = depth;
    const auto worker = [&]() -> Task<bool> {
      while (next < calls) co_await make(next++);
      --running;
      co_return true;
    };
    std::vector<Task<bool>> workers;
    for (std::size_t i = 0; i < depth; ++i) workers.push_back(worker());
    for (auto& task : workers) task.start();
    loop_.run_until([&] { return running == 0; }, loop_.now() + 60s);
    must(running == 0, "calls were not answered");
  }

  // Gives back the leases that earlier calls were granted, as a client does.
  Task<Reply> call(RequestBody body) {
    Request request{.header = {.session = {1, 1}, .number = ++number_}, .body = std::move(body)};
    unanswered_.push_back(number_);
    request.header.lowest_unanswered = unanswered_.front();
    request.header.lease_returns = std::exchange(leases_, {});
    auto reply = co_await link_->call(request, loop_.now() + 10s);
    must(reply.has_value(), "a call failed");
    std::erase(unanswered_, request.header.number);
    for (const Answer& answer : reply->answers) {
      must(answer.has_value(), answer ? "" : answer.error().message());
      if (const auto* list = std::get_if<ReplicaList>(&*answer)) {
        leases_.push_back({list->lease.slot, list->lease.round, list->put_id});
      }
    }
    co_return std::move(*reply);
  }
  Task<bool> one_call(RequestBody body) {
    (void)co_await call(std::move(body));
    co_return true;
  }

  // Both calls of a put, without the bytes.
  Task<bool> put(std::size_t first, std::size_t items) {
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < items; ++i) keys.push_back(key_of(first + i));
    PutStart start;
    for (const std::string& key : keys) start.items.push_back({.key = key, .size = 64_B});
    const Reply granted = co_await call(std::move(start));
    PutEnd end;
    for (std::size_t i = 0; i < items; ++i) {
      const auto& grant = std::get<PutGrant>(*granted.answers[i]);
      end.items.push_back({.key = keys[i], .put_id = grant.put_id, .sealed = 1, .checksum = i});
    }
    (void)co_await call(std::move(end));
    co_return true;
  }
  Task<bool> look(std::size_t first, std::size_t items) {
    GetReplicaList body;
    for (std::size_t i = 0; i < items; ++i) body.items.push_back({keys_[(first + i) % objects]});
    return one_call(std::move(body));
  }
  void fill() {
    run(8, objects / batch, [&](std::size_t n) { return put(n * batch, batch); });
    Random random(1);
    for (std::size_t i = 0; i < objects; ++i) keys_.push_back(key_of(random.below(objects)));
  }
  Time now() const { return loop_.now(); }

 private:
  Served master_thread_;
  Served node_thread_;
  std::unique_ptr<MasterDaemon> master_;
  std::unique_ptr<NodeDaemon> node_;
  bool ready_ = false;

  Loop loop_;
  std::unique_ptr<ClientLink> link_;
  std::uint64_t number_ = 0;
  std::vector<std::uint64_t> unanswered_;
  std::vector<LeaseReturn> leases_;
  std::vector<std::string> keys_;  // of the lookups, in their order
};

// ---- rates --------------------------------------------------------------------------------------

constexpr Reference mooncake(double value) {
  return {.name = "Mooncake v0.3.11, 4 client threads, on such a machine", .value = value};
}

void batches_of_lookups(benchmark::State& state) {
  constexpr std::size_t calls = 8192;
  Pool pool;
  pool.fill();
  for (auto _ : state) {
    pool.run(8, calls, [&](std::size_t n) { return pool.look(n * batch, batch); });
  }
  report_rate(state, "lookups/s", static_cast<double>(calls * batch), mooncake(488e3));
}
BENCHMARK(batches_of_lookups)->Iterations(1)->UseRealTime()->Unit(benchmark::kMillisecond);

void batches_of_puts(benchmark::State& state) {
  constexpr std::size_t calls = 4096;
  Pool pool;
  for (auto _ : state) {
    pool.run(8, calls, [&](std::size_t n) { return pool.put(n * batch, batch); });
  }
  report_rate(state, "puts/s", static_cast<double>(calls * batch), mooncake(236e3));
}
BENCHMARK(batches_of_puts)->Iterations(1)->UseRealTime()->Unit(benchmark::kMillisecond);

void single_lookups(benchmark::State& state) {
  constexpr std::size_t calls = 200'000;
  Pool pool;
  pool.fill();
  const auto depth = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    pool.run(depth, calls, [&](std::size_t n) { return pool.look(n, 1); });
  }
  report_rate(state, "lookups/s", static_cast<double>(calls), mooncake(24e3));
}
BENCHMARK(single_lookups)
    ->Arg(4)
    ->Arg(64)
    ->Iterations(1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// ---- latency ------------------------------------------------------------------------------------

// One call at a time. A socket that waits for acknowledgements would show as a mode at 40 ms.
std::vector<double> latencies_us(std::size_t calls) {
  Pool pool;
  pool.fill();
  std::vector<double> took;
  for (std::size_t n = 0; n < calls; ++n) {
    const Time begin = pool.now();
    pool.run(1, 1, [&](std::size_t) { return pool.look(n, 1); });
    took.push_back(std::chrono::duration<double, std::micro>(pool.now() - begin).count());
  }
  std::ranges::sort(took);
  return took;
}

void single_lookup_latency(benchmark::State& state) {
  const auto percent = static_cast<std::size_t>(state.range(0));
  double value = 0;
  for (auto _ : state) {
    const std::vector<double> took = latencies_us(20'000);
    value = took[std::min(took.size() * percent / 100, took.size() - 1)];
  }
  report_value(state, "us", value);
}
BENCHMARK(single_lookup_latency)
    ->ArgName("percentile")
    ->Arg(50)
    ->Arg(99)
    ->Arg(100)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace larder::bench
