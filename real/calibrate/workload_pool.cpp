#include "real/calibrate/workload_pool.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <mutex>
#include <thread>
#include <utility>

#include "core/base/size_text.h"
#include "core/protocol/extent_shape.h"
#include "real/rpc/loop.h"

namespace larder::real {
namespace {

constexpr std::uint64_t removed_at_once = 512;
constexpr Duration clearing_max = std::chrono::seconds(20);
constexpr double filled_max = 0.85;  // eviction begins some percent above

std::string stored_key(Bytes size, std::uint64_t number) {
  return fmt::format("calibrate/{}/{}", size.value, number);
}
std::string new_key(std::uint64_t number) { return fmt::format("calibrate/new/{}", number); }

// The items of one call, with buffers that are used again and again.
struct Batch {
  Batch(Bytes size, std::uint32_t count) : keys(count), buffer(size.value * count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      into.push_back(std::span(buffer).subspan(size.value * i, size.value));
      from.emplace_back(into.back());
    }
  }

  std::vector<std::string> keys;
  std::vector<std::byte> buffer;
  std::vector<Slice> into;
  std::vector<ConstSlice> from;
};

}  // namespace

std::uint64_t stored_values(Bytes size) {
  constexpr Bytes together{64 << 20};
  return std::clamp<std::uint64_t>(together / size, 8, 1'024);
}

struct WorkloadPool::Asked {
  Workload workload;
  bool exists = false;
};

namespace {

// What all callers of a run share.
struct Window {
  std::atomic<bool> stop = false;
  std::atomic<bool> warm = false;       // what begins now is counted
  std::atomic<std::uint32_t> not_done;  // clients that have not made calls enough
  std::atomic<std::uint64_t> next_new = 0;
  std::uint64_t new_max = 0;
};

// One client: one call after the other.
class Caller {
 public:
  Caller(Pool& pool, const Workload& workload, bool exists, std::uint32_t number, Window& window)
      : pool_(pool),
        workload_(workload),
        exists_(exists),
        window_(window),
        batch_(workload.size, workload.batch),
        next_stored_(std::uint64_t{number} * workload.batch) {}

  // Until it is told to stop, or fails, or there is no room for more.
  void run(Time began, const WorkloadTime& time) {
    began_ = began;
    std::uint64_t counted = 0;
    while (!window_.stop && outcome_.has_value()) {
      const bool counts = window_.warm;
      if (!step()) break;
      if (counts && ++counted == time.calls_min) --window_.not_done;
    }
    if (counted < time.calls_min) --window_.not_done;
  }

  // From the begin of the run on.
  const std::vector<TimedCall>& calls() const { return calls_; }
  const Status& outcome() const { return outcome_; }

 private:
  // False: it was not made.
  bool step() {
    const std::uint64_t number = calls_made_++;
    const auto operation = workload_.operation;
    const bool puts = operation == Workload::Operation::put ||
                      (operation == Workload::Operation::mixed && number % 4 == 3);
    if (puts) leave_room();
    const Time begin = clock_.now();
    if (puts) {
      const std::uint64_t first = window_.next_new.fetch_add(workload_.batch);
      if (first + workload_.batch > window_.new_max) return false;
      for (std::uint32_t i = 0; i < workload_.batch; ++i) batch_.keys[i] = new_key(first + i);
      put();
    } else {
      const std::uint64_t stored = stored_values(workload_.size);
      for (std::string& key : batch_.keys) {
        key = stored_key(workload_.size, next_stored_++ % stored);
      }
      exists_ ? ask() : get();
    }
    calls_.push_back({.begin = begin - began_, .end = clock_.now() - began_});
    return true;
  }

  // What is not counted takes a quarter of the room at most, however late its end is told.
  void leave_room() const {
    while (!window_.warm && !window_.stop && window_.next_new > window_.new_max / 4) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

  template <class Results>
  void look_at(const Results& results) {
    for (const auto& result : results) {
      if (!result) outcome_ = std::unexpected(result.error());
    }
  }

  void put() {
    std::vector<PutItem> items;
    for (std::size_t i = 0; i < batch_.keys.size(); ++i) {
      items.push_back({.key = batch_.keys[i], .value = {&batch_.from[i], 1}});
    }
    look_at(pool_.put(items));
  }
  void get() {
    std::vector<GetItem> items;
    for (std::size_t i = 0; i < batch_.keys.size(); ++i) {
      items.push_back({.key = batch_.keys[i], .into = {&batch_.into[i], 1}});
    }
    look_at(pool_.get(items));
  }
  void ask() {
    const std::vector<std::string_view> keys(batch_.keys.begin(), batch_.keys.end());
    look_at(pool_.exists(keys));
  }

  Pool& pool_;
  const Workload& workload_;
  const bool exists_;
  Window& window_;
  Batch batch_;
  BootClock clock_;
  Time began_;
  std::uint64_t next_stored_;
  std::uint64_t calls_made_ = 0;
  std::vector<TimedCall> calls_;
  Status outcome_;
};

// Processor time used so far, by whom.
struct Processors {
  Duration master{0};
  Duration node{0};
  Duration client{0};
  Duration all{0};
};

Processors processors(const std::vector<ServerProcess>& servers) {
  Processors now{.client = processor_time_of(::getpid()), .all = processor_time_of_all()};
  if (!servers.empty()) {
    now.master = servers[0].processor_time();
    now.node = servers[1].processor_time();
  }
  return now;
}

}  // namespace

Result<WorkloadPool> WorkloadPool::start(CalibratedTransport transport, Bytes memory) {
  WorkloadPool pool;
  pool.transport_ = transport;
  pool.memory_ = memory;
  if (transport == CalibratedTransport::local) {
    LARDER_TRY(Pool embedded, Pool::embedded({.memory = memory}));
    pool.clients_.push_back(std::move(embedded));
    return pool;
  }
  LARDER_TRY(ServerProcess master,
             ServerProcess::start({"master", "--listen", "127.0.0.1:0", "--log-level", "error"}));
  LARDER_TRY(ServerProcess node,
             ServerProcess::start({"node", "--master", master.endpoint(), "--memory",
                                   std::to_string(memory.value), "--log-level", "error"}));
  pool.servers_.push_back(std::move(master));
  pool.servers_.push_back(std::move(node));
  return pool;
}

Status WorkloadPool::open_clients(std::uint32_t clients) {
  if (transport_ == CalibratedTransport::local) return {};
  while (clients_.size() < clients) {
    LARDER_TRY(Pool opened, Pool::open({.master = servers_[0].endpoint()}));
    clients_.push_back(std::move(opened));
  }
  return {};
}

Pool& WorkloadPool::client(std::uint32_t number) {
  return clients_[transport_ == CalibratedTransport::local ? 0 : number];
}

Status WorkloadPool::store(Bytes size) {
  LARDER_CHECK(open_clients(1));
  Batch batch(size, 1);
  const std::uint64_t values = stored_values(size);
  for (std::uint64_t number = 0; number < values; ++number) {
    const std::string key = stored_key(size, number);
    const PutItem item{.key = key, .value = {batch.from.data(), 1}};
    for (const auto& result : client(0).put({&item, 1})) {
      if (!result) return std::unexpected(result.error());
    }
  }
  stored_ += extent_shape(size).length * values;
  return {};
}

// Removes the new values, and waits until their space is back.
Status WorkloadPool::clear(std::uint64_t values) {
  for (std::uint64_t next = 0; next < values;) {
    std::vector<std::string> keys;
    for (; next < values && keys.size() < removed_at_once; ++next) keys.push_back(new_key(next));
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    for (const Status& removed : client(0).remove(views, {.force = true})) {
      if (!removed && removed.error().code() != ErrorCode::object_not_found) return removed;
    }
  }
  const BootClock clock;
  const Time until = clock.now() + clearing_max;
  while (values > 0) {
    LARDER_TRY(const StatusReport status, client(0).status());
    if (status.used + status.quarantined <= stored_ + 1_MiB) return {};
    if (clock.now() > until) {
      return failed(ErrorCode::no_available_handle,
                    fmt::format("{} are still in use after everything was removed",
                                size_text(status.used + status.quarantined)));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return {};
}

Result<WorkloadRun> WorkloadPool::run(const Workload& workload, const WorkloadTime& time) {
  return run({.workload = workload, .exists = false}, time);
}
Result<WorkloadRun> WorkloadPool::run_exists(const Workload& workload, const WorkloadTime& time) {
  return run({.workload = workload, .exists = true}, time);
}

Result<WorkloadRun> WorkloadPool::run(const Asked& asked, const WorkloadTime& time) {
  const Workload& workload = asked.workload;
  LARDER_CHECK(open_clients(workload.clients));
  const double room =
      filled_max * static_cast<double>(memory_.value) - static_cast<double>(stored_.value);
  Window window;
  window.not_done = workload.clients;
  window.new_max = static_cast<std::uint64_t>(
      std::max(0.0, room / static_cast<double>(extent_shape(workload.size).length.value)));
  std::vector<std::unique_ptr<Caller>> callers;
  for (std::uint32_t number = 0; number < workload.clients; ++number) {
    callers.push_back(
        std::make_unique<Caller>(client(number), workload, asked.exists, number, window));
  }
  const BootClock clock;
  const Time began = clock.now();
  std::vector<std::jthread> threads;
  for (const auto& caller : callers) {
    threads.emplace_back([&] { caller->run(began, time); });
  }
  std::this_thread::sleep_for(time.warm_up);
  const Processors before = processors(servers_);
  const Time first = clock.now();
  window.warm = true;
  while (clock.now() < first + time.measured || window.not_done > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    // Who finds no more room has ended: then the others' time is over too.
    if (window.next_new > window.new_max) break;
  }
  const Time last = clock.now();
  const Processors after = processors(servers_);
  window.stop = true;
  threads.clear();
  for (const auto& caller : callers) {
    if (!caller->outcome()) return std::unexpected(caller->outcome().error());
  }
  LARDER_CHECK(clear(std::min<std::uint64_t>(window.next_new, window.new_max)));
  std::vector<TimedCall> calls;
  for (const auto& caller : callers) {
    for (const auto& [begin, end] : caller->calls()) {
      calls.push_back({.begin = begin - (first - began), .end = end - (first - began)});
    }
  }
  WorkloadRun result = summary(calls, workload.size * workload.batch, last - first);
  if (result.calls == 0) {
    return failed(ErrorCode::no_available_handle, to_string(workload) + ": no call ended before " +
                                                      size_text(memory_) + " were full");
  }
  result.master_cpu = after.master - before.master;
  result.node_cpu = after.node - before.node;
  result.client_cpu = after.client - before.client;
  result.others_cpu =
      std::max(Duration(0), (after.all - before.all) -
                                (result.master_cpu + result.node_cpu + result.client_cpu));
  return result;
}

}  // namespace larder::real
