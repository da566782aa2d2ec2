#include "real/cli/bench.h"

#include <fmt/format.h>

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cmath>
#include <thread>

#include "core/base/random.h"
#include "core/base/size_text.h"
#include "core/protocol/extent_shape.h"
#include "core/protocol/limits.h"
#include "real/rpc/loop.h"
#include "real/system/machine.h"
#include "real/system/mapped_memory.h"
#include "workloads/lockstep/page_pattern.h"

namespace larder::real {
namespace {

namespace asio = boost::asio;

constexpr std::uint64_t threads_max = 1024;
constexpr std::uint64_t depth_max = 4096;
constexpr std::uint64_t removed_at_once = 512;

struct Shared {
  const BenchPlan& plan;
  const std::string& prefix;
  Time count_from;
  Time until;
  std::atomic<std::uint64_t>& next_new;  // counts the keys that are put
  std::uint64_t keys_max;                // numbers of keys stay below it: later puts replace
};

std::string key_of(const std::string& prefix, std::uint64_t number) {
  return prefix + std::to_string(number);
}

// A list of items of one call, with buffers that are used again and again.
struct Batch {
  Batch(const BenchPlan& plan, std::uint64_t seed)
      : numbers(plan.batch),
        keys(plan.batch),
        time_to_live(plan.warm_up + plan.time + std::chrono::minutes(5)) {
    for (std::uint64_t i = 0; i < plan.batch; ++i) {
      std::vector<std::byte>& buffer = buffers.emplace_back(plan.value.value);
      workloads::fill_page({seed + i}, buffer);
      into.emplace_back(buffer);
      from.emplace_back(buffer);
    }
  }

  template <class Draw>
  void name(const std::string& prefix, Draw draw) {
    views.clear();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      numbers[i] = draw();
      keys[i] = key_of(prefix, numbers[i]);
      views.push_back(keys[i]);
    }
  }
  // They outlive no run, even one that is killed.
  std::span<const PutItem> puts(bool fill) {
    put_items.clear();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (fill) workloads::fill_page({numbers[i]}, buffers[i]);
      put_items.push_back({.key = keys[i], .value = {&from[i], 1}, .time_to_live = time_to_live});
    }
    return put_items;
  }
  std::span<const GetItem> gets() {
    get_items.clear();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      get_items.push_back({.key = keys[i], .into = {&into[i], 1}});
    }
    return get_items;
  }

  std::vector<std::uint64_t> numbers;
  std::vector<std::string> keys;
  std::vector<std::string_view> views;
  std::vector<std::vector<std::byte>> buffers;
  std::vector<Slice> into;
  std::vector<ConstSlice> from;
  Duration time_to_live;
  std::vector<PutItem> put_items;
  std::vector<GetItem> get_items;
};

// One call after the other until the time is over; a thread has `depth` of them.
class Caller {
 public:
  Caller(const Shared& shared, Pool& pool, BenchResult& result, Random random)
      : shared_(shared),
        pool_(pool),
        result_(result),
        random_(random),
        batch_(shared.plan, random_.next()) {}

  asio::awaitable<void> run() {
    const BenchPlan& plan = shared_.plan;
    const double all = plan.puts + plan.gets + plan.exists;
    while (clock_.now() < shared_.until) {
      const double kind = random_.unit() * all;
      began_ = clock_.now();
      if (kind < plan.puts) {
        co_await put();
      } else if (kind < plan.puts + plan.gets) {
        co_await get();
      } else {
        co_await exists();
      }
    }
  }

 private:
  std::uint64_t draw_stored() { return random_.below(shared_.plan.keys); }

  // Where to count the call that has just ended; null: it belongs to the warm-up.
  BenchCount* counted(BenchCount& count) {
    const Time now = clock_.now();
    if (began_ < shared_.count_from || now > shared_.until) return nullptr;
    count.calls.add(now - began_);
    count.items += batch_.keys.size();
    return &count;
  }

  // Counts whenever it comes, also in the warm-up and after the end.
  static void failure(BenchCount& count, const Error& error) { ++count.errors[error.code()]; }

  asio::awaitable<void> put() {
    bool replaces = false;
    batch_.name(shared_.prefix, [&] {
      const std::uint64_t number = shared_.next_new++;
      if (number < shared_.keys_max) return number;
      replaces = true;
      const std::uint64_t keys = shared_.plan.keys;
      return keys + (number - keys) % (shared_.keys_max - keys);
    });
    const auto items = batch_.puts(shared_.plan.verify);
    began_ = clock_.now();
    const PutOptions options{.upsert = replaces, .preferred = {}};
    const Pool::PutResults results = co_await pool_.async_put(items, asio::use_awaitable, options);
    BenchCount* const count = counted(result_.put);
    for (const auto& result : results) {
      if (!result) {
        failure(result_.put, result.error());
      } else if (count != nullptr) {
        ++count->done;
        count->bytes += shared_.plan.value.value;
      }
    }
  }

  asio::awaitable<void> get() {
    batch_.name(shared_.prefix, [&] { return draw_stored(); });
    const auto items = batch_.gets();
    began_ = clock_.now();
    const Pool::GetResults results = co_await pool_.async_get(items, asio::use_awaitable);
    BenchCount* const count = counted(result_.get);
    for (std::size_t i = 0; i < results.size(); ++i) {
      const bool missing = !results[i] && results[i].error().code() == ErrorCode::object_not_found;
      const bool wrong = results[i] && shared_.plan.verify &&
                         !workloads::is_page({batch_.numbers[i]}, batch_.buffers[i]);
      if (wrong) ++result_.get.wrong;  // also in the warm-up
      if (!results[i] && !missing) failure(result_.get, results[i].error());
      if (count == nullptr || (!results[i] && !missing)) continue;
      ++count->done;
      if (missing) continue;
      ++count->found;
      count->bytes += results[i]->size.value;
    }
  }

  asio::awaitable<void> exists() {
    batch_.name(shared_.prefix, [&] { return draw_stored(); });
    began_ = clock_.now();
    const Pool::ExistsResults results =
        co_await pool_.async_exists(batch_.views, asio::use_awaitable);
    BenchCount* const count = counted(result_.exists);
    for (const auto& result : results) {
      if (!result) {
        failure(result_.exists, result.error());
      } else if (count != nullptr) {
        ++count->done;
        count->found += result->exists ? 1 : 0;
      }
    }
  }

  const Shared& shared_;
  Pool& pool_;
  BenchResult& result_;
  Random random_;
  Batch batch_;
  BootClock clock_;
  Time began_;
};

void run_thread(const Shared& shared, Pool& pool, BenchResult& result, Random random) {
  asio::io_context context{1};
  std::vector<std::unique_ptr<Caller>> callers;
  for (std::uint64_t i = 0; i < shared.plan.depth; ++i) {
    callers.push_back(std::make_unique<Caller>(shared, pool, result, Random(random.next())));
    asio::co_spawn(context, callers.back()->run(), asio::detached);
  }
  context.run();
}

// The values that gets will find, with bytes that say which they are.
Status store(Pool& pool, const BenchPlan& plan, const std::string& prefix) {
  BenchPlan one_by_one = plan;
  one_by_one.batch = std::min(plan.batch, plan.keys);
  Batch batch(one_by_one, 0);
  for (std::uint64_t next = 0; next < plan.keys;) {
    batch.name(prefix, [&] { return std::min(next++, plan.keys - 1); });
    std::span<const PutItem> items = batch.puts(true);
    const std::uint64_t extra = next > plan.keys ? next - plan.keys : 0;
    for (const auto& result : pool.put(items.first(items.size() - extra))) {
      if (!result) return std::unexpected(result.error());
    }
  }
  return {};
}

void remove_all(Pool& pool, const std::string& prefix, std::uint64_t end) {
  for (std::uint64_t next = 0; next < end;) {
    std::vector<std::string> keys;
    for (; next < end && keys.size() < removed_at_once; ++next) {
      keys.push_back(key_of(prefix, next));
    }
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    // Much of it was evicted meanwhile; what cannot be removed is evicted some day.
    static_cast<void>(pool.remove(views, {.force = true}));
  }
}

void measure(const Shared& shared, std::vector<Pool>& pools, BenchResult& result, Random& random,
             const std::function<void(double)>& progress) {
  const BenchPlan& plan = shared.plan;
  std::vector<BenchResult> results(plan.threads);
  std::vector<std::jthread> threads;
  for (std::uint64_t i = 0; i < plan.threads; ++i) {
    threads.emplace_back([&, i, seed = random.next()] {
      run_thread(shared, pools[i % pools.size()], results[i], Random(seed));
    });
  }
  const BootClock clock;
  const Time begin = shared.count_from - plan.warm_up;
  for (Time now = clock.now(); now < shared.until; now = clock.now()) {
    progress(std::chrono::duration<double>(now - begin) / (shared.until - begin));
    std::this_thread::sleep_for(
        std::min<Duration>(shared.until - now, std::chrono::milliseconds(100)));
  }
  threads.clear();
  for (const BenchResult& each : results) {
    result.put.add(each.put);
    result.get.add(each.get);
    result.exists.add(each.exists);
  }
}

}  // namespace

void BenchCount::add(const BenchCount& other) {
  calls.add(other.calls);
  items += other.items;
  done += other.done;
  found += other.found;
  wrong += other.wrong;
  bytes += other.bytes;
  for (const auto& [code, count] : other.errors) errors[code] += count;
}

Status check(const BenchPlan& plan) {
  const auto refuse = [](std::string why) {
    return failed(ErrorCode::invalid_params, std::move(why));
  };
  for (const double weight : {plan.puts, plan.gets, plan.exists}) {
    if (!(weight >= 0) || !std::isfinite(weight)) return refuse("a weight is 0 or more");
  }
  if (plan.puts + plan.gets + plan.exists <= 0) return refuse("the mix is empty");
  if (plan.value == 0_B || plan.value > object_bytes_max_default) {
    return refuse("a value has 1 byte to " + size_text(object_bytes_max_default));
  }
  if (plan.keys == 0) return refuse("there is at least one key");
  if (plan.batch == 0 || plan.batch > items_per_call_max) {
    return refuse(fmt::format("a call has 1 to {} items", items_per_call_max));
  }
  if (plan.threads == 0 || plan.threads > threads_max) {
    return refuse(fmt::format("there are 1 to {} threads", threads_max));
  }
  if (plan.clients == 0 || plan.clients > plan.threads) {
    return refuse(fmt::format("there are 1 to {} clients, as many as threads", plan.threads));
  }
  if (plan.depth == 0 || plan.depth > depth_max) {
    return refuse(fmt::format("the depth is 1 to {}", depth_max));
  }
  if (plan.time <= Duration(0)) return refuse("the time that is measured is more than 0 s");
  if (plan.warm_up < Duration(0)) return refuse("the warm-up is 0 s or more");
  const double buffers = static_cast<double>(plan.value.value) * static_cast<double>(plan.batch) *
                         static_cast<double>(plan.threads) * static_cast<double>(plan.depth);
  if (const Bytes available = available_memory();
      buffers > static_cast<double>(available.value) / 2) {
    return failed(ErrorCode::buffer_overflow,
                  fmt::format("{:.1f} GiB of buffers (value, batch, depth and threads multiplied) "
                              "are more than half of the {} of memory that are available here",
                              buffers / static_cast<double>((1_GiB).value), size_text(available)));
  }
  return {};
}

// How many keys there may be at once without anything being displaced.
Result<std::uint64_t> keys_that_fit(Pool& pool, const BenchPlan& plan) {
  constexpr std::uint64_t no_limit = ~std::uint64_t{0};
  constexpr double filled_max = 0.9;  // eviction begins some percent above
  if (plan.evict) return no_limit;
  LARDER_TRY(const StatusReport status, pool.status());
  const double room = filled_max * static_cast<double>(status.capacity.value) -
                      static_cast<double>((status.used + status.quarantined).value);
  const double each = static_cast<double>(extent_shape(plan.value).length.value);
  const auto fit = static_cast<std::uint64_t>(std::max(0.0, room / each));
  const std::uint64_t in_flight = plan.puts > 0 ? 2 * plan.batch * plan.threads * plan.depth : 0;
  if (fit >= plan.keys + in_flight) return fit;
  return failed(
      ErrorCode::no_available_handle,
      fmt::format("{} values of {} and {} more that are being put do not fit beside what is "
                  "stored; {} would: fewer --keys, a smaller --value, or --evict to "
                  "displace what others have stored",
                  plan.keys, size_text(plan.value), in_flight, fit));
}

Result<BenchResult> run_bench(const BenchPlan& plan, const std::function<Result<Pool>()>& connect,
                              const std::function<void(double)>& progress) {
  LARDER_CHECK(check(plan));
  std::vector<Pool> pools;
  for (std::uint64_t i = 0; i < plan.clients; ++i) {
    LARDER_TRY(Pool pool, connect());
    pools.push_back(std::move(pool));
  }
  LARDER_TRY(const std::uint64_t keys_max, keys_that_fit(pools.front(), plan));
  Random random = system_random();
  const std::string prefix = fmt::format("larder bench {:016x}/", random.next());
  std::atomic<std::uint64_t> next_new = plan.keys;
  if (Status stored = store(pools.front(), plan, prefix); !stored) {
    remove_all(pools.front(), prefix, plan.keys);
    return std::unexpected(std::move(stored).error());
  }
  const Time begin = BootClock().now();
  const Shared shared{.plan = plan,
                      .prefix = prefix,
                      .count_from = begin + plan.warm_up,
                      .until = begin + plan.warm_up + plan.time,
                      .next_new = next_new,
                      .keys_max = keys_max};
  BenchResult result{.time = plan.time};
  measure(shared, pools, result, random, progress);
  remove_all(pools.front(), prefix, std::min(next_new.load(), keys_max));
  return result;
}

}  // namespace larder::real
