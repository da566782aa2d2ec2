// What one thread of a master does with a million objects of 64-byte keys, and the memory that each
// object costs it. The peer is Mooncake's master (v0.3.11.post1), called in process on such a
// machine with keys of 14 bytes.
#include <malloc.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
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
constexpr Bytes value = 4000_B;
constexpr Bytes extent = 4096_B;  // of a value: rounded up to 64 bytes, and a footer

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

struct PoolShape {
  Bytes segment = 1_TiB;
  Watermarks watermarks{1, 1};
};

class Pool {
 public:
  static constexpr std::size_t nodes = 8;

  explicit Pool(PoolShape shape = {}) {
    MasterConfig config;
    config.watermarks = shape.watermarks;
    master_ = std::move(Master::make(now_, config, {.epoch = {1}, .instance = {1, 1}}, {})).value();
    for (std::size_t n = 1; n <= nodes; ++n) {
      const std::string name = "n" + std::to_string(n);
      send(
          {.body = RegisterNode{.incarnation = {2, n},
                                .registration = 1,
                                .name = name,
                                .endpoint = name,
                                .host = name,
                                .segments = {{.id = {3, n}, .name = "s", .size = shape.segment}}}});
      send({.body = ReportInventory{.incarnation = {2, n}, .registration = 1, .last = true}});
    }
    call(OpenSession{.tenant = "t"});
  }

  // Puts `items` new keys from start to end.
  void put(const std::vector<std::string>& keys, std::size_t first) {
    PutStart start;
    PutEnd end;
    start.items.reserve(items);  // a decoder knows how many there are
    end.items.reserve(items);
    for (std::size_t i = 0; i < items; ++i) {
      start.items.push_back({.key = keys[first + i], .size = value});
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
  void tick() {
    now_ += Duration(1000);
    master_->tick(now_, effects_);
  }
  // The nodes confirm all that they were told to retire; how many extents.
  std::size_t confirm() {
    std::size_t confirmed = 0;
    std::vector<Command> commands;
    commands.swap(effects_.commands);
    for (Command& command : commands) {
      auto* retire = std::get_if<RetireExtents>(&command.body);
      if (retire == nullptr) continue;
      confirmed += retire->extents.size();
      send({.body = ConfirmRetirement{.incarnation = command.incarnation,
                                      .registration = 1,
                                      .retired = std::move(retire->extents)}});
    }
    return confirmed;
  }
  const Sink& sink() const { return sink_; }

 private:
  void send(const Request& request) {
    now_ += Duration(1000);
    master_->apply(now_, ++ticket_, request, effects_);
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
  for (std::size_t i = 0; i < count; ++i) {
    const std::string text = std::to_string(first + i);
    keys.push_back(std::string(64 - text.size(), 'k') + text);
  }
  return keys;
}

struct Filled {
  std::vector<std::string> keys = make_keys(0, objects / items * items);
  Pool pool;
  explicit Filled(PoolShape shape = {}) : pool(shape) { pool.fill(keys); }
};

// Keys of `filled` in random order, one behind the other in memory, as a decoder leaves them.
class RandomKeys {
 public:
  explicit RandomKeys(const Filled& filled) {
    Random random(1);
    texts_.reserve(count * 64);
    for (std::size_t i = 0; i < count; ++i) {
      texts_ += filled.keys[random.below(filled.keys.size())];
    }
  }
  template <class Call>
  Call next() {
    Call call;
    call.items.reserve(items);
    for (std::size_t i = 0; i < items; ++i) {
      call.items.push_back({std::string_view(texts_).substr((at_ + i) * 64, 64)});
    }
    at_ = (at_ + items) % count;
    return call;
  }

 private:
  static constexpr std::size_t count = 1 << 20;
  std::string texts_;
  std::size_t at_ = 0;
};

// Each lease is given back with the next call, as a client does.
void master_get_replica_list(benchmark::State& state) {
  Filled filled;
  RandomKeys keys(filled);
  double count = 0;
  for (auto _ : state) {
    filled.pool.call(keys.next<GetReplicaList>(), filled.pool.sink().leases);
    count += items;
  }
  report_rate(state, "lookups/s", count, {.name = "the goal", .value = 3e6});
}
BENCHMARK(master_get_replica_list)->Unit(benchmark::kMicrosecond);

void master_exists(benchmark::State& state) {
  Filled filled;
  RandomKeys keys(filled);
  double count = 0;
  for (auto _ : state) {
    filled.pool.call(keys.next<Exists>());
    count += items;
  }
  report_time_of_each(state, count, {.name = "the peer's ExistKey", .value = 1089});
}
BENCHMARK(master_exists)->Unit(benchmark::kMicrosecond);

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

// What a full pool does for each put besides: one object goes, and its node confirms that.
constexpr Reference pace_of_puts{.name = "the goal of puts, each of which may need one",
                                 .value = 1.5e6};

// With the confirmations, in a random order of keys.
void master_remove(benchmark::State& state) {
  Filled filled;
  auto keys = filled.keys;
  Random random(1);
  for (std::size_t i = keys.size() - 1; i > 0; --i) std::swap(keys[i], keys[random.below(i + 1)]);
  std::size_t at = 0;
  for (auto _ : state) {
    Remove remove;
    for (std::size_t i = 0; i < items; ++i) remove.items.push_back({keys[at + i]});
    filled.pool.call(std::move(remove));
    at += filled.pool.confirm();
  }
  report_rate(state, "removals/s", static_cast<double>(at), pace_of_puts);
}
BENCHMARK(master_remove)->Iterations(4096)->Unit(benchmark::kMicrosecond);

// With the confirmations, in the order of a use at random, in steps as the master's tick does them.
void master_evict(benchmark::State& state) {
  Filled filled({.segment = extent * (objects / Pool::nodes), .watermarks = {0.1, 0.1}});
  RandomKeys keys(filled);
  for (std::size_t i = 0; i < objects; i += items) {
    filled.pool.call(keys.next<GetReplicaList>(), filled.pool.sink().leases);
  }
  filled.pool.call(KeepAlive{}, filled.pool.sink().leases);
  std::size_t evicted = 0;
  for (auto _ : state) {
    filled.pool.tick();
    evicted += filled.pool.confirm();
  }
  report_rate(state, "evictions/s", static_cast<double>(evicted), pace_of_puts);
}
BENCHMARK(master_evict)->Iterations(512)->Unit(benchmark::kMicrosecond);

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
  report_value(state, "bytes", each, {.name = "the goal", .value = 256});
}
BENCHMARK(master_bytes_of_an_object)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace larder::bench
