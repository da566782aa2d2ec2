#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/base/size_text.h"
#include "real/cli/commands.h"
#include "real/cli/json_output.h"
#include "real/cli/pool_options.h"
#include "real/client/pool_task.h"
#include "real/rpc/loop.h"
#include "terminal/arguments.h"
#include "terminal/command.h"
#include "terminal/output.h"
#include "terminal/progress.h"
#include "workloads/lockstep/lockstep.h"
#include "workloads/lockstep/record.h"
#include "workloads/trace.h"

namespace larder::real {
namespace {

namespace fs = std::filesystem;
using workloads::LockstepTotals;

struct ReplayArguments {
  PoolOptions pool;
  std::vector<fs::path> paths;
  std::string format;
  std::uint32_t block_tokens = 512;
  Bytes page_bytes = 32_KiB;
  std::uint64_t requests_max = 0;
  std::uint64_t warmup_requests = 0;
  double seconds = 0;
  std::string directory;
  bool progress = false;
  bool json = false;
};

std::optional<double> ratio(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

std::string to_text(const LockstepTotals& totals, double wall_s) {
  using terminal::with_thousands;
  const auto line = [](std::string_view name, const std::string& value) {
    return fmt::format("{:<12}{}\n", name, value);
  };
  const auto hits = [](std::uint64_t part, std::uint64_t whole) {
    return fmt::format("{} of {} ({})", with_thousands(part), with_thousands(whole),
                       terminal::as_percent(ratio(part, whole)));
  };
  return line("requests", with_thousands(totals.requests)) +
         line("page hits", hits(totals.page_hits, totals.pages)) +
         line("tokens hit", hits(totals.tokens_hit, totals.tokens)) +
         line("puts", with_thousands(totals.puts)) +
         line("evictions", with_thousands(totals.evictions)) +
         line("bytes", fmt::format("{} read, {} written", size_text(totals.bytes_read),
                                   size_text(totals.bytes_written))) +
         line("decisions", fmt::format("{:016x}", totals.decision_digest)) +
         line("time", fmt::format("{:.2f} s", wall_s));
}

// How far a run is, by whichever limit comes first.
std::optional<double> share_done(const ReplayArguments& arguments, std::uint64_t requests,
                                 double elapsed_s) {
  std::optional<double> share;
  if (arguments.requests_max > 0) share = ratio(requests, arguments.requests_max);
  if (arguments.seconds > 0) {
    share = std::max(share.value_or(0), std::min(1.0, elapsed_s / arguments.seconds));
  }
  return share;
}

Result<workloads::LockstepConfig> config_of(const ReplayArguments& arguments) {
  if (arguments.page_bytes == 0_B) {
    return failed(ErrorCode::invalid_params, "--page-bytes must not be 0");
  }
  if (!(arguments.seconds >= 0) || arguments.seconds > 1e8) {
    return failed(ErrorCode::invalid_params, "--seconds is 0 to 100,000,000");
  }
  workloads::LockstepConfig config{.page_bytes = arguments.page_bytes,
                                   .warmup_requests = arguments.warmup_requests};
  if (arguments.requests_max > 0) config.requests_max = arguments.requests_max;
  if (arguments.seconds > 0) {
    config.stop_after =
        std::chrono::duration_cast<Duration>(std::chrono::duration<double>(arguments.seconds));
  }
  return config;
}

// "a.json", or "a.json and 3 more".
std::string trace_name(const std::vector<fs::path>& paths) {
  const std::string first = paths.front().filename().string();
  return paths.size() == 1 ? first : fmt::format("{} and {} more", first, paths.size() - 1);
}

// What the pool says of itself, before anything is asked of it.
Result<workloads::LockstepRecord> describe(Pool& pool, const ReplayArguments& arguments) {
  LARDER_TRY(const StatusReport report, pool.status());
  return workloads::LockstepRecord{.world = std::string(workloads::real_world),
                                   .trace = trace_name(arguments.paths),
                                   .page_bytes = arguments.page_bytes,
                                   .nodes = report.nodes.size(),
                                   .memory = report.capacity,
                                   .policy = {},
                                   .seed = {},
                                   .totals = {},
                                   .state_hash = {},
                                   .virtual_s = {}};
}

struct Server {
  Client& client;
  const Clock& time;
};
Task<Status> serve(Server pool, workloads::TraceReader& trace, workloads::LockstepConfig config,
                   workloads::LockstepProgress progress, LockstepTotals& outcome) {
  auto totals = co_await workloads::run_in_lockstep(pool.client, pool.time, trace, config,
                                                    std::move(progress));
  if (!totals) co_return std::unexpected(std::move(totals).error());
  outcome = *totals;
  co_return Status();
}

Status run(const ReplayArguments& arguments) {
  LARDER_TRY(const workloads::LockstepConfig config, config_of(arguments));
  LARDER_TRY(Pool pool, arguments.pool.connect());
  LARDER_TRY(
      const auto trace,
      workloads::open_trace(arguments.paths, {.format = workloads::format_named(arguments.format),
                                              .block_tokens = arguments.block_tokens}));
  LARDER_TRY(workloads::LockstepRecord record, describe(pool, arguments));
  const BootClock clock;
  const Time begin = clock.now();
  const auto elapsed = [&] { return clock.now() - begin; };
  workloads::LockstepSeries series;
  terminal::ProgressBar bar({.title = "real pool",
                             .enabled = !arguments.json || arguments.progress,
                             .always = arguments.progress});
  const auto progress = [&](const LockstepTotals& totals) {
    series.add(totals, elapsed());
    bar.show(
        share_done(arguments, totals.warmup_requests + totals.requests, in_seconds(elapsed())),
        fmt::format("{} requests, {} of pages hit, {} evictions", totals.requests,
                    terminal::as_percent(ratio(totals.page_hits, totals.pages)), totals.evictions));
    return true;
  };
  LARDER_CHECK(run_on(pool, [&](Client& client, const Clock& time) {
    return serve({client, time}, *trace, config, progress, record.totals);
  }));
  record.wall_s = in_seconds(elapsed());
  record.series = series.points();
  if (!arguments.directory.empty()) {
    LARDER_CHECK(workloads::write_record(arguments.directory, record));
  }
  return terminal::print(arguments.json ? workloads::to_json(record)
                                        : to_text(record.totals, record.wall_s));
}

}  // namespace

void add_replay(terminal::Command app, Status& outcome) {
  const terminal::Command command =
      app.add_subcommand("replay", "Serves a trace from a running pool, with real bytes");
  command.footer(
      "One request after the other: the pages of each are read and compared, byte by byte, with "
      "what\n"
      "was written; those that are missing are put. The master must run with --lock-step; then\n"
      "`larder-sim lockstep` with the same nodes, sizes and seed makes the same decisions, and "
      "their\n"
      "digests are equal.\n"
      "Example: larder replay sessions.jsonl --page-bytes 32KiB --requests-max 1000 --out result");
  const auto arguments = std::make_shared<ReplayArguments>();
  command
      .add_option("TRACE", arguments->paths,
                  "A Mooncake trace (JSONL, one request a line), or agentic sessions (JSON): any "
                  "number of files, or a directory of them")
      .required();
  command
      .add_option("--format", arguments->format,
                  "mooncake or agentic; without it, the content of the file decides")
      .one_of({"mooncake", "agentic"});
  terminal::add_number(command, "--block-size", arguments->block_tokens,
                       "Tokens in a block of a Mooncake trace, which does not say it itself");
  terminal::add_size(command, "--page-bytes", arguments->page_bytes,
                     "The bytes that stand for a block's KV cache");
  terminal::add_number(command, "--requests-max", arguments->requests_max,
                       "Serve so many requests; 0: the whole trace");
  terminal::add_number(command, "--warmup", arguments->warmup_requests,
                       "So many requests at the start fill the pool and are not counted");
  terminal::add_number(command, "--seconds", arguments->seconds,
                       "Begin no request after so many seconds; 0: no limit");
  command.add_option("--out", arguments->directory, "Write DIR/real.json").type_name("DIR");
  command.add_flag("--progress", arguments->progress,
                   "Show how far it is also where stderr is no terminal, or with --json");
  add_pool_options(command, arguments->pool);
  command.add_flag("--json", arguments->json, "Print what is written to real.json");
  command.callback([arguments, &outcome] { outcome = run(*arguments); });
}

}  // namespace larder::real
