#include <fmt/format.h>

#include <memory>
#include <string>

#include "core/base/size_text.h"
#include "real/cli/bench.h"
#include "real/cli/commands.h"
#include "real/cli/json_output.h"
#include "real/cli/pool_options.h"
#include "terminal/arguments.h"
#include "terminal/command.h"
#include "terminal/output.h"
#include "terminal/progress.h"

namespace larder::real {
namespace {

struct BenchArguments {
  PoolOptions pool;
  BenchPlan plan;
  double seconds = 10;
  double warm_up_s = 1;
  bool json = false;
};

double per_second(std::uint64_t count, Duration time) {
  return static_cast<double>(count) / in_seconds(time);
}

double in_ms(Duration duration) { return in_seconds(duration) * 1e3; }

ordered_json to_json(const BenchCount& count, Duration time) {
  ordered_json errors = ordered_json::object();
  for (const auto& [code, items] : count.errors) errors[std::string(error_name(code))] = items;
  return {{"calls", count.calls.count()},
          {"items", count.items},
          {"items_done", count.done},
          {"items_found", count.found},
          {"items_wrong", count.wrong},
          {"bytes", count.bytes},
          {"items_per_s", per_second(count.done, time)},
          {"bytes_per_s", per_second(count.bytes, time)},
          {"p50_ms", in_ms(count.calls.quantile(0.5))},
          {"p99_ms", in_ms(count.calls.quantile(0.99))},
          {"p999_ms", in_ms(count.calls.quantile(0.999))},
          {"errors", errors}};
}

std::string line(std::string_view name, const BenchCount& count, Duration time) {
  if (count.calls.count() == 0 && count.wrong == 0) return {};
  std::string text = fmt::format(
      "{:<8}{:>14.0f}{:>12.3f}{:>12.3f}{:>12.3f}{:>12.3f}", name, per_second(count.done, time),
      per_second(count.bytes, time) / 1e9, in_ms(count.calls.quantile(0.5)),
      in_ms(count.calls.quantile(0.99)), in_ms(count.calls.quantile(0.999)));
  if (name != "put" && count.done > 0) {
    text += fmt::format("  {} found", terminal::as_percent(static_cast<double>(count.found) /
                                                           static_cast<double>(count.done)));
  }
  for (const auto& [code, items] : count.errors) {
    text += fmt::format("  {} {}", error_name(code), terminal::with_thousands(items));
  }
  return text + "\n";
}

std::string to_text(const BenchResult& result) {
  return fmt::format("{:<8}{:>14}{:>12}{:>12}{:>12}{:>12}\n", "", "items/s", "GB/s", "p50 ms",
                     "p99 ms", "p99.9 ms") +
         line("put", result.put, result.time) + line("get", result.get, result.time) +
         line("exists", result.exists, result.time);
}

Result<Duration> seconds_of(std::string_view option, double seconds) {
  if (!(seconds >= 0) || seconds > 1e6) {
    return failed(ErrorCode::invalid_params,
                  fmt::format("{} is 0 to 1,000,000 seconds, not {}", option, seconds));
  }
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

Status run(const BenchArguments& arguments) {
  BenchPlan plan = arguments.plan;
  LARDER_TRY(plan.time, seconds_of("--seconds", arguments.seconds));
  LARDER_TRY(plan.warm_up, seconds_of("--warm-up", arguments.warm_up_s));
  terminal::ProgressBar bar({.title = "bench", .enabled = !arguments.json});
  LARDER_TRY(const BenchResult result, run_bench(
                                           plan, [&] { return arguments.pool.connect(); },
                                           [&](double share) { bar.show(share, "measuring"); }));
  LARDER_CHECK(terminal::print(arguments.json
                                   ? to_line({{"seconds", in_seconds(result.time)},
                                              {"value_bytes", plan.value.value},
                                              {"batch", plan.batch},
                                              {"threads", plan.threads},
                                              {"clients", plan.clients},
                                              {"depth", plan.depth},
                                              {"put", to_json(result.put, result.time)},
                                              {"get", to_json(result.get, result.time)},
                                              {"exists", to_json(result.exists, result.time)}})
                                   : to_text(result)));
  if (result.get.wrong > 0) {
    return failed(ErrorCode::checksum_mismatch,
                  fmt::format("{} values were not what had been put", result.get.wrong));
  }
  std::uint64_t failures = 0;
  for (const BenchCount* count : {&result.put, &result.get, &result.exists}) {
    for (const auto& [code, items] : count->errors) failures += items;
  }
  if (failures == 0) return {};
  return failed(ErrorCode::transfer_fail, fmt::format("{} items failed, as is said above",
                                                      terminal::with_thousands(failures)));
}

}  // namespace

void add_bench(terminal::Command app, Status& outcome) {
  const terminal::Command command =
      app.add_subcommand("bench", "Measures a running pool with a mix of calls");
  command.footer(
      "Stores --keys values, then puts new ones, gets and asks for those, each call drawn by the\n"
      "weights, and at the end removes what it has put. It keeps to the free space of the pool: "
      "once\n"
      "that is used, puts replace what it put before. What a run that is killed leaves expires "
      "some\n"
      "minutes after its time. A call's latency is counted from its begin "
      "to its last item.\n"
      "Example: larder bench --value 1MiB --batch 16 --get 1 --put 0 --exists 0 --seconds 5");
  const auto arguments = std::make_shared<BenchArguments>();
  BenchPlan& plan = arguments->plan;
  terminal::add_number(command, "--put", plan.puts, "Weight of puts of new keys");
  terminal::add_number(command, "--get", plan.gets, "Weight of gets");
  terminal::add_number(command, "--exists", plan.exists, "Weight of questions whether keys exist");
  terminal::add_size(command, "--value", plan.value, "Bytes of a value");
  terminal::add_number(command, "--keys", plan.keys, "Values that are stored before");
  terminal::add_number(command, "--batch", plan.batch, "Items of a call");
  terminal::add_number(command, "--threads", plan.threads, "Threads that call");
  terminal::add_number(command, "--clients", plan.clients,
                       "Clients, each with its own session and connections, over which the threads "
                       "are spread");
  terminal::add_number(command, "--depth", plan.depth, "Calls of a thread under way at once");
  terminal::add_number(command, "--seconds", arguments->seconds, "How long is measured");
  terminal::add_number(command, "--warm-up", arguments->warm_up_s,
                       "How many seconds run before, which are not counted");
  command.add_flag("--evict", plan.evict,
                   "Put new keys without end, which displaces what others have stored");
  command.add_flag("--verify", plan.verify,
                   "Compare each byte that is read; a wrong one is exit code 1");
  add_pool_options(command, arguments->pool);
  command.add_flag("--json", arguments->json, "Print one object with all of it");
  command.callback([arguments, &outcome] { outcome = run(*arguments); });
}

}  // namespace larder::real
