#include <fmt/format.h>

#include <array>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <cstdio>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/percent.h"
#include "core/base/size_text.h"
#include "core/protocol/limits.h"
#include "real/cli/commands.h"
#include "real/cli/json_output.h"
#include "real/cli/pool_options.h"
#include "real/cli/value_input.h"
#include "terminal/arguments.h"
#include "terminal/command.h"
#include "terminal/output.h"
#include "terminal/progress.h"

namespace larder::real {
namespace {

constexpr Bytes unknown_size{~std::uint64_t{0}};

struct PutArguments {
  PoolOptions pool;
  KeyOptions keys;
  std::string key;
  std::string file = "-";
  std::uint32_t replicas = 1;
  double time_to_live_s = 0;
  double soft_pin_s = 0;
  Bytes size = unknown_size;
  bool upsert = false;
  bool json = false;
};

constexpr Bytes window_bytes = 32_MiB;  // two of them are in memory
// A node takes its memory before it joins, a second for each GiB or so, and longer on a busy
// machine.
constexpr auto patience_for_nodes = std::chrono::seconds(15);
constexpr auto told_of_it_after = std::chrono::seconds(1);

Result<Duration> duration_of(std::string_view option, double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) {
    return failed(ErrorCode::invalid_params,
                  fmt::format("{} is 0 to 1,000,000,000 seconds, not {}", option, seconds));
  }
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

// What no value can be larger than. A pool that does not answer, or has no node yet, will say so.
Bytes room_of(Pool& pool) {
  const auto status = pool.status();
  return status && status->capacity > 0_B ? status->capacity : object_bytes_max_default;
}

// `attempt`; once more where a pool that was just started had no node yet, when it has one: its
// nodes take their memory first. One that holds nothing was not full: its node has come since.
template <class Attempt>
auto with_patience(Pool& pool, Attempt attempt) {
  auto result = attempt();
  if (result || result.error().code() != ErrorCode::no_available_handle) return result;
  const auto begin = std::chrono::steady_clock::now();
  auto seen = pool.status();
  if (!seen || (seen->capacity > 0_B && seen->objects > 0)) return result;
  bool told = false;
  while (seen && seen->capacity == 0_B) {
    const auto waited = std::chrono::steady_clock::now() - begin;
    if (waited > patience_for_nodes) return result;
    if (waited > told_of_it_after && !std::exchange(told, true)) {
      fmt::print(stderr, "larder: waiting until a node of the pool is there\n");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    seen = pool.status();
  }
  return attempt();
}

// A value of one window: the client may then begin once more by itself.
Result<PutOutcome> put_whole(Pool& pool, PutItem item, const PutOptions& options,
                             ValueInput& input) {
  std::vector<std::byte> content(input.size().value);
  LARDER_CHECK(input.read(content));
  LARDER_CHECK(input.check_end());
  const ConstSlice slice(content);
  item.value = {&slice, 1};
  return with_patience(pool, [&] { return std::move(pool.put({&item, 1}, options).front()); });
}

// The next window is read while the one before is on its way.
Status write_windows(Pool& pool, const PartedPut& put, ValueInput& input) {
  std::array<std::vector<std::byte>, 2> windows;
  std::array<ConstSlice, 2> slices;
  std::array<PutBytes, 2> parts;
  std::future<Pool::WriteResults> under_way;
  const auto wait = [&]() -> Status {
    return under_way.valid() ? std::move(under_way.get().front()) : Status();
  };
  terminal::ProgressBar bar({.title = "put"});
  Status status;
  std::size_t turn = 0;
  for (Bytes done; done < input.size() && status; turn = 1 - turn) {
    const Bytes length = std::min(window_bytes, input.size() - done);
    windows[turn].resize(length.value);
    status = input.read(windows[turn]);
    if (Status before = wait(); !before) status = std::move(before);
    if (!status) break;
    slices[turn] = windows[turn];
    parts[turn] = {.put = &put, .bytes = {&slices[turn], 1}};
    under_way = pool.async_write_parts({&parts[turn], 1}, boost::asio::use_future);
    done += length;
    bar.show(static_cast<double>(done.value) / static_cast<double>(input.size().value),
             size_text(done));
  }
  if (Status last = wait(); status && !last) status = std::move(last);
  if (status) status = input.check_end();
  return status;
}

Result<PutOutcome> put_in_windows(Pool& pool, const PutItem& item, const PutOptions& options,
                                  ValueInput& input) {
  const PutInParts wanted{.item = item, .size = input.size()};
  LARDER_TRY(const PartedPut put, with_patience(pool, [&] {
               return std::move(pool.begin_put({&wanted, 1}, options).front());
             }));
  if (put.already_stored()) return PutOutcome{.already_stored = true};
  LARDER_CHECK(write_windows(pool, put, input));
  const PartedPut* const ending = &put;
  return std::move(pool.end_put({&ending, 1}).front());
}

Status run(const PutArguments& arguments) {
  LARDER_TRY(const std::string key, arguments.keys.key(arguments.key));
  LARDER_TRY(const Duration time_to_live, duration_of("--time-to-live", arguments.time_to_live_s));
  LARDER_TRY(const Duration soft_pin, duration_of("--soft-pin", arguments.soft_pin_s));
  LARDER_TRY(Pool pool, arguments.pool.connect());
  const auto told = arguments.size == unknown_size ? std::nullopt : std::optional(arguments.size);
  LARDER_TRY(ValueInput input,
             ValueInput::open(arguments.file, told, [&] { return room_of(pool); }));
  const Bytes size = input.size();
  const PutItem item{.key = key,
                     .replicas = arguments.replicas,
                     .soft_pin = soft_pin,
                     .time_to_live = time_to_live};
  const PutOptions options{.upsert = arguments.upsert, .preferred = {}};
  LARDER_TRY(const PutOutcome outcome, size <= window_bytes
                                           ? put_whole(pool, item, options, input)
                                           : put_in_windows(pool, item, options, input));
  if (arguments.json) {
    return terminal::print(to_line(
        {{"key", percent_escaped(key)},
         {"size", size.value},
         {"already_stored", outcome.already_stored},
         {"replicas", outcome.replicas},
         {"put_id", outcome.put_id ? ordered_json(to_string(outcome.put_id)) : ordered_json()}}));
  }
  if (outcome.already_stored) {
    return terminal::print(
        fmt::format("{} was there already and is unchanged (--upsert would replace it)\n",
                    percent_escaped(key)));
  }
  const std::string asked = outcome.replicas < arguments.replicas
                                ? fmt::format(" of {} asked for", arguments.replicas)
                                : "";
  return terminal::print(fmt::format("put {}: {}, {} replica{}{}\n", percent_escaped(key),
                                     size_text(size), outcome.replicas,
                                     outcome.replicas == 1 ? "" : "s", asked));
}

}  // namespace

void add_put(terminal::Command app, Status& outcome) {
  const terminal::Command command =
      app.add_subcommand("put", "Stores the content of a file, or of stdin, under a key");
  command.footer(
      "A key that is there already stays as it is, since in this pool the same key means the same\n"
      "content; that counts as done and is said. A value of any size is read in windows of 32 MiB; "
      "of a\n"
      "pipe that does not tell its size, what is more than 64 MiB is kept in TMPDIR (or /var/tmp) "
      "first,\n"
      "unless --size says it.\n"
      "Examples: larder put page/1 page1.bin\n"
      "          echo hello | larder put greeting");
  const auto arguments = std::make_shared<PutArguments>();
  command.add_option("KEY", arguments->key, "The key, 1 to 1,024 bytes").required();
  command.add_option("FILE", arguments->file, "What to store; - is stdin").capture_default_str();
  add_key_options(command, arguments->keys);
  terminal::add_number(command, "--replicas", arguments->replicas,
                       "Copies on different segments, 1 to 16; fewer are told, not refused");
  command.add_flag("--upsert", arguments->upsert,
                   "Replace what is there; until the new value is whole, the old one is read");
  terminal::add_number(command, "--time-to-live", arguments->time_to_live_s,
                       "The pool drops the value after so many seconds; 0: never by itself")
      .type_name("SECONDS");
  terminal::add_number(command, "--soft-pin", arguments->soft_pin_s,
                       "For so many seconds it is evicted after everything that has no pin")
      .type_name("SECONDS");
  terminal::add_size(command, "--size", arguments->size,
                     "How many bytes a pipe will give, so that they need not be kept first; it is "
                     "an error if it gives others")
      .default_str("read to the end");
  add_pool_options(command, arguments->pool);
  command.add_flag(
      "--json", arguments->json,
      "Print {key, size, already_stored, replicas, put_id}; of one that was there already "
      "replicas is 0 and put_id null");
  command.callback([arguments, &outcome] { outcome = run(*arguments); });
}

}  // namespace larder::real
