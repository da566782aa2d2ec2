// What one thread of a master does with a million objects of 64-byte keys, and the memory that each
// object costs it.
#include <malloc.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/master/master.h"
#include "tests/bench/report.h"

namespace {

std::size_t allocated = 0;  // in bytes, with what malloc rounds up; one thread

void* counted(std::size_t size) {
  void* memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  allocated += malloc_usable_size(memory);
  return memory;
}
void* counted(std::size_t size, std::align_val_t alignment) {
  const auto to = static_cast<std::size_t>(alignment);
  void* memory = std::aligned_alloc(to, (size + to - 1) / to * to);
  if (memory == nullptr) std::abort();
  allocated += malloc_usable_size(memory);
  return memory;
}
void release(void* memory) noexcept {
  allocated -= malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new(std::size_t size, std::align_val_t to) { return counted(size, to); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }

namespace larder::bench {
namespace {

constexpr std::size_t objects = 1'000'000;
constexpr std::size_t items = 64;  // of one call
constexpr SessionId session{1, 1};

class Sink final : public AnswerSink {
 public:
  void answer(Ticket, std::uint32_t index, const Answer& given) override {
    if (!given) {
      ++errors;
    } else if (const auto* grant = std::get_if<PutGrant>(&*given)) {
      ids[index] = grant->put_id;
    } else if (const auto* list = std::get_if<ReplicaList>(&*given)) {
      leases[index] = {list->lease.slot, list->lease.round, list->put_id};
    }
  }
  std::size_t errors = 0;
  std::vector<PutId> ids = std::vector<PutId>(items);
  std::vector<LeaseReturn> leases = std::vector<LeaseReturn>(items);
};

class Pool {
 public:
  explicit Pool(std::size_t nodes = 8) {
    MasterConfig config;
    config.watermarks = {1, 1};
    master_ = std::move(Master::make(now_, config, {.epoch = {1}, .instance = {1, 1}}, {})).value();
    for (std::size_t n = 1; n <= nodes; ++n) {
      const std::string name = "n" + std::to_string(n);
      send({.body = RegisterNode{.incarnation = {2, n},
                                 .registration = 1,
                                 .name = name,
                                 .endpoint = name,
                                 .host = name,
                                 .segments = {{.id = {3, n}, .name = "s", .size = 1_TiB}}}});
      send({.body = ReportInventory{.incarnation = {2, n}, .registration = 1, .last = true}});
    }
    call(OpenSession{.tenant = "t"});
  }

  static std::string key(std::size_t number) {
    std::string text = std::to_string(number);
    return std::string(64 - text.size(), 'k') + text;
  }
  // Puts `items` new keys from start to end.
  void put(const std::vector<std::string>& keys, std::size_t first) {
    PutStart start;
    PutEnd end;
    for (std::size_t i = 0; i < items; ++i) {
      start.items.push_back({.key = keys[first + i], .size = 4000_B});
    }
    call(std::move(start));
    for (std::size_t i = 0; i < items; ++i) {
      end.items.push_back(
          {.key = keys[first + i], .put_id = sink_.ids[i], .sealed = 1, .checksum = i});
    }
    call(std::move(end));
  }
  void fill(const std::vector<std::string>& keys) {
    for (std::size_t i = 0; i + items <= keys.size(); i += items) put(keys, i);
  }
  void call(RequestBody body, std::vector<LeaseReturn> returns = {}) {
    ++number_;
    send({.header = {.session = session,
                     .number = number_,
                     .lowest_unanswered = number_,
                     .lease_returns = std::move(returns)},
          .body = std::move(body)});
  }
  const Sink& sink() const { return sink_; }

 private:
  void send(const Request& request) {
    now_ += Duration(1000);
    master_->apply(now_, ++ticket_, request, effects_);
    effects_.clear();
    if (sink_.errors != 0) std::abort();
  }

  Time now_{std::chrono::hours(1)};
  Sink sink_;
  MasterEffects effects_{sink_};
  std::unique_ptr<Master> master_;
  Ticket ticket_ = 0;
  std::uint64_t number_ = 0;
};

std::vector<std::string> make_keys(std::size_t first, std::size_t count) {
  std::vector<std::string> keys;
  keys.reserve(count);
  for (std::size_t i = 0; i < count; ++i) keys.push_back(Pool::key(first + i));
  return keys;
}

struct Filled {
  std::vector<std::string> keys = make_keys(0, objects / items * items);
  Pool pool;
  Filled() { pool.fill(keys); }
};

// Keys in random order, each lease given back with the next call, as a client does.
void master_get_replica_list(benchmark::State& state) {
  Filled filled;
  Random random(1);
  std::vector<std::string_view> order(1 << 20);
  for (auto& key : order) key = filled.keys[random.below(filled.keys.size())];
  std::size_t at = 0;
  double count = 0;
  for (auto _ : state) {
    GetReplicaList get;
    for (std::size_t i = 0; i < items; ++i) get.items.push_back({order[at + i]});
    at = (at + items) % order.size();
    filled.pool.call(std::move(get), filled.pool.sink().leases);
    count += items;
  }
  report_rate(state, "lookups/s", count, {.name = "the goal", .value = 3e6});
}
BENCHMARK(master_get_replica_list)->Unit(benchmark::kMicrosecond);

// New keys in a master that has a million; both calls of a put.
void master_put(benchmark::State& state) {
  constexpr std::int64_t calls = 4096;
  Filled filled;
  const auto keys = make_keys(objects, static_cast<std::size_t>(calls) * items);
  std::size_t at = 0;
  for (auto _ : state) {
    filled.pool.put(keys, at);
    at += items;
  }
  report_rate(state, "puts/s", static_cast<double>(at), {.name = "the goal", .value = 1.5e6});
}
BENCHMARK(master_put)->Iterations(4096)->Unit(benchmark::kMicrosecond);

// Everything that the master has allocated for the objects, the 64 bytes of the key among it.
void master_bytes_of_an_object(benchmark::State& state) {
  const auto keys = make_keys(0, objects / items * items);
  double each = 0;
  for (auto _ : state) {
    Pool pool;
    const std::size_t before = allocated;
    pool.fill(keys);
    each = static_cast<double>(allocated - before) / static_cast<double>(keys.size());
  }
  report_value(state, "bytes", each);
}
BENCHMARK(master_bytes_of_an_object)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace larder::bench
