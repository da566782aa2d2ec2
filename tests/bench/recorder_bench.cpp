// What --record costs a master: lookups over loopback TCP in batches with and without it, in turns
// of one run, since a machine is not the same a minute later; and how long the state of a million
// objects holds the master up. Limits: 5 % of the rate, 20 ms (docs/decisions/0006-recorder.md).
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/base/random.h"
#include "core/protocol/extent_shape.h"
#include "real/daemon/master_daemon.h"
#include "real/daemon/recorder.h"
#include "real/rpc/client_link.h"
#include "tests/bench/report.h"
#include "tests/files/temporary.h"

namespace larder::bench {
namespace {

using namespace real;
using namespace std::chrono_literals;

constexpr std::size_t objects = 1 << 18;
constexpr std::size_t batch = 128;
constexpr IncarnationId incarnation{2, 1};
constexpr SegmentId segment{3, 1};
constexpr SessionId session{1, 1};

void must(bool good, const std::string& what) {
  if (good) return;
  std::fprintf(stderr, "recorder_bench: %s\n", what.c_str());
  std::abort();
}

std::string key_of(std::size_t number) {
  std::string text = std::to_string(number);
  return std::string(64 - text.size(), 'k') + text;
}

// A master on a thread of its own, and a client's link on this one. Its node is only registered.
class Pool {
 public:
  explicit Pool(const RecordOptions& record) {
    spdlog::set_level(spdlog::level::warn);
    MasterOptions options{.listen = {"127.0.0.1", 0}, .config = {.watermarks = {1, 1}}};
    options.config.timing.hidden_after_silence = 1h;
    options.config.timing.hidden_after_disconnect = 1h;  // of a link that no node is behind
    options.config.timing.node_lost = 2h;
    options.record = record;
    auto made = MasterDaemon::make(loop_of_master_, options,
                                   [](Error error) { must(false, error.message()); });
    must(made.has_value(), made ? "" : made.error().message());
    master_ = std::move(*made);
    thread_ = std::thread([this] {
      loop_of_master_.run();
      timespec spent{};
      ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
      cpu_s_ = static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) / 1e9;
    });
    link_ = std::make_unique<ClientLink>(loop_,
                                         LinkConfig{.master = master_->endpoint(), .who = "bench"});
    RegisterNode node{.incarnation = incarnation,
                      .registration = 1,
                      .name = "n",
                      .endpoint = "n:1",
                      .host = "n",
                      .segments = {{.id = segment, .name = "s", .size = 1_GiB}}};
    one(std::move(node));
    one(ReportInventory{.incarnation = incarnation, .registration = 1, .last = true});
    one(OpenSession{.tenant = "t"});
    fill();
  }
  ~Pool() { stop(); }
  void stop() {
    link_.reset();
    loop_of_master_.stop();
    if (thread_.joinable()) thread_.join();
  }
  double master_cpu_s() const { return cpu_s_; }

  // `calls` lookups in batches, no faster than `rate` items a second (0: as fast as it goes).
  // The items per second.
  double look(std::size_t calls, double rate) {
    const Time begin = loop_.now();
    std::size_t running = 0;
    const auto ask = [&](std::size_t n) -> Task<bool> {
      GetReplicaList body;
      for (std::size_t i = 0; i < batch; ++i)
        body.items.push_back({keys_[(n * batch + i) % objects]});
      (void)co_await call(std::move(body));
      --running;
      co_return true;
    };
    std::vector<Task<bool>> tasks;
    for (std::size_t n = 0; n < calls; ++n) {
      loop_.run_until([&] { return running < depth; }, loop_.now() + 60s);
      must(running < depth, "a call was not answered");
      const double due_s = rate > 0 ? static_cast<double>(n * batch) / rate : 0;
      const Time due = begin + Duration(static_cast<std::int64_t>(1e9 * due_s));
      if (due > loop_.now()) loop_.run_until([] { return false; }, due);
      ++running;
      tasks.push_back(ask(n));
      tasks.back().start();
    }
    loop_.run_until([&] { return running == 0; }, loop_.now() + 60s);
    must(running == 0, "calls were not answered");
    const double took = std::chrono::duration<double>(loop_.now() - begin).count();
    return static_cast<double>(calls * batch) / took;
  }

 private:
  static constexpr std::size_t depth = 8;

  Task<Reply> call(RequestBody body) {
    Request request{.header = {.session = session, .number = ++number_}, .body = std::move(body)};
    request.header.lowest_unanswered = number_ > 64 ? number_ - 64 : 0;
    request.header.lease_returns = std::exchange(leases_, {});
    auto reply = co_await link_->call(request, loop_.now() + 10s);
    must(reply.has_value(), "a call failed");
    for (const Answer& answer : reply->answers) {
      must(answer.has_value(), answer ? "" : answer.error().message());
      if (const auto* list = std::get_if<ReplicaList>(&*answer)) {
        leases_.push_back({list->lease.slot, list->lease.round, list->put_id});
      }
    }
    co_return std::move(*reply);
  }
  void one(RequestBody body) {
    bool done = false;
    const auto ask = [&]() -> Task<bool> {
      (void)co_await call(std::move(body));
      done = true;
      co_return true;
    };
    auto task = ask();
    task.start();
    loop_.run_until([&] { return done; }, loop_.now() + 10s);
    must(done, "a call was not answered");
  }
  void fill() {
    for (std::size_t first = 0; first < objects; first += batch) {
      bool done = false;
      const auto put = [&]() -> Task<bool> {
        std::vector<std::string> keys;
        PutStart start;
        for (std::size_t i = 0; i < batch; ++i) keys.push_back(key_of(first + i));
        for (const std::string& key : keys) start.items.push_back({.key = key, .size = 64_B});
        const Reply granted = co_await call(std::move(start));
        PutEnd end;
        for (std::size_t i = 0; i < batch; ++i) {
          const auto& grant = std::get<PutGrant>(*granted.answers[i]);
          end.items.push_back({.key = keys[i], .put_id = grant.put_id, .sealed = 1, .checksum = i});
        }
        (void)co_await call(std::move(end));
        done = true;
        co_return true;
      };
      auto task = put();
      task.start();
      loop_.run_until([&] { return done; }, loop_.now() + 10s);
      must(done, "a put was not answered");
    }
    Random random(1);
    for (std::size_t i = 0; i < objects; ++i) keys_.push_back(key_of(random.below(objects)));
  }

  Loop loop_of_master_;
  std::unique_ptr<MasterDaemon> master_;
  std::thread thread_;
  double cpu_s_ = 0;
  Loop loop_;
  std::unique_ptr<ClientLink> link_;
  std::uint64_t number_ = 0;
  std::vector<LeaseReturn> leases_;
  std::vector<std::string> keys_;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Turn by turn, one pool with and one without; the median of the ratios of neighbours.
void rate_with_recording(benchmark::State& state) {
  constexpr int turns = 15;
  constexpr std::size_t calls = 2048;
  const auto rate = static_cast<double>(state.range(0));
  const TemporaryDirectory directory;
  std::vector<double> ratios;
  std::vector<double> with;
  std::vector<double> without;
  for (auto _ : state) {
    Pool recorded({.directory = directory.path()});
    Pool plain({});
    for (int turn = 0; turn < turns; ++turn) {
      const bool first = turn % 2 == 0;
      const double a = (first ? recorded : plain).look(calls, rate);
      const double b = (first ? plain : recorded).look(calls, rate);
      with.push_back(first ? a : b);
      without.push_back(first ? b : a);
      ratios.push_back(with.back() / without.back());
    }
  }
  std::fprintf(stderr, "recorder_bench: %.0f lookups/s with, %.0f without, offered %s\n",
               median(with), median(without),
               rate > 0 ? std::to_string(static_cast<int>(rate)).c_str() : "as fast as it goes");
  report_value(state, "% of the rate without", 100 * median(ratios),
               {.name = "at least 95 %", .value = 95});
}
BENCHMARK(rate_with_recording)
    ->ArgName("offered")
    ->Arg(300'000)
    ->Arg(0)
    ->Iterations(1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// The master's thread at a given load: its CPU time for one million lookups, with and without.
void cpu_with_recording(benchmark::State& state) {
  constexpr std::size_t calls = 8192;
  const TemporaryDirectory directory;
  double spent[2] = {0, 0};
  for (auto _ : state) {
    for (int turn = 0; turn < 3; ++turn) {
      for (const bool recording : {true, false}) {
        RecordOptions options;
        if (recording) options.directory = directory.path();
        Pool pool(options);
        pool.look(calls, 300'000);
        pool.stop();
        spent[recording ? 1 : 0] += pool.master_cpu_s();
      }
    }
  }
  report_value(state, "% of the CPU time without", 100 * spent[1] / spent[0],
               {.name = "at most 105 %", .value = 105});
}
BENCHMARK(cpu_with_recording)->Iterations(1)->UseRealTime()->Unit(benchmark::kMillisecond);

// What the master's thread waits for when a slot begins, at a million objects.
class Nobody final : public AnswerSink {
 public:
  void answer(Ticket, std::uint32_t, const Answer& answer) override {
    if (!answer) return;
    if (const auto* grant = std::get_if<PutGrant>(&*answer)) id = grant->put_id;
  }
  PutId id;
};

void stall_of_a_state(benchmark::State& state) {
  constexpr std::size_t count = 1'000'000;
  const TemporaryDirectory directory;
  Nobody sink;
  MasterEffects effects(sink);
  const Time now{1h};
  const auto master =
      Master::make(now, {.watermarks = {1, 1}}, {.epoch = {9}, .instance = {1, 1}}, {}).value();
  Ticket ticket = 0;
  const auto apply = [&](RequestBody body) {
    ++ticket;
    const RequestHeader header{.session = session, .number = ticket, .lowest_unanswered = ticket};
    master->apply(now, ticket, {.header = header, .body = std::move(body)}, effects);
    effects.clear();
  };
  apply(RegisterNode{.incarnation = incarnation,
                     .registration = 1,
                     .name = "n",
                     .endpoint = "n",
                     .host = "n",
                     .segments = {{.id = segment, .name = "s", .size = 8_GiB}}});
  apply(ReportInventory{.incarnation = incarnation, .registration = 1, .last = true});
  apply(OpenSession{.tenant = "t"});
  for (std::size_t i = 0; i < count; ++i) {
    const std::string key = key_of(i);
    apply(PutStart{.items = {{.key = key, .size = 64_B}}});
    apply(PutEnd{.items = {{.key = key, .put_id = sink.id, .sealed = 1, .checksum = i}}});
  }
  must(master->status(now).objects == count, "the objects are not there");
  double stall_ms = 0;
  double written_ms = 0;
  Bytes size;
  for (auto _ : state) {
    const auto recorder = std::move(Recorder::make({.directory = directory.path()})).value();
    for (int turn = 0; turn < 5; ++turn) {
      const auto begin = std::chrono::steady_clock::now();
      must(recorder->begin_slot(now, *master), "no slot");
      const auto forked = std::chrono::steady_clock::now();
      const Bytes before = recorder->view(now).bytes;
      while (recorder->view(now).bytes < before + 1_MiB) std::this_thread::yield();
      const auto written = std::chrono::steady_clock::now();
      stall_ms =
          std::max(stall_ms, std::chrono::duration<double, std::milli>(forked - begin).count());
      written_ms = std::chrono::duration<double, std::milli>(written - forked).count();
      size = recorder->view(now).bytes - before;
    }
  }
  std::fprintf(stderr,
               "recorder_bench: a state of %zu objects: %.1f MB in %.0f ms beside the master\n",
               count, static_cast<double>(size.value) / 1e6, written_ms);
  report_value(state, "ms", stall_ms, {.name = "at most 20 ms", .value = 20});
}
BENCHMARK(stall_of_a_state)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace larder::bench
