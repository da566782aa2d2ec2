#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "core/base/size_text.h"
#include "sim/cli/commands.h"
#include "sim/cli/trace_arguments.h"
#include "sim/replay/replay.h"
#include "sim/report/table.h"
#include "terminal/arguments.h"
#include "terminal/command.h"
#include "terminal/output.h"
#include "terminal/progress.h"
#include "workloads/lockstep/record.h"

namespace larder::sim {
namespace {

using workloads::LockstepRecord;
using workloads::LockstepTotals;

struct LockstepArguments {
  TraceArguments trace;
  ReplayConfig config;
  std::string out;
  std::string verify = "on";
  std::uint64_t requests_max = 0;  // 0: all
  bool json = false;
};

class Progress {
 public:
  explicit Progress(const LockstepArguments& arguments) : bar_({.title = "simulated"}) {
    if (bar_.visible()) {
      expected_ = arguments.trace.count_requests(arguments.config.requests_max);
    }
  }
  void show(const LockstepTotals& totals) {
    if (!expected_) return;
    const std::uint64_t served = totals.warmup_requests + totals.requests;
    const double share =
        static_cast<double>(served) / static_cast<double>(std::max<std::uint64_t>(1, *expected_));
    bar_.show(share, fmt::format("{} of {} requests", terminal::with_thousands(served),
                                 terminal::with_thousands(*expected_)));
  }

 private:
  terminal::ProgressBar bar_;
  std::optional<std::uint64_t> expected_;
};

std::string to_text(const LockstepRecord& record) {
  const std::array records{record};
  return "Simulated pool\n" + to_text(setting_rows(records)) + "\nServed\n" +
         to_text(result_rows(records)) +
         "\nVirtual time is that of the simulated machines and network, which serve one request "
         "after "
         "the other\nas fast as they can. It forecasts no real pool: what carries over are the "
         "decisions above it.\n";
}

Result<LockstepRecord> run_replay(const LockstepArguments& arguments) {
  LARDER_TRY(const auto trace, arguments.trace.open());
  Progress progress(arguments);
  const auto begin = std::chrono::steady_clock::now();
  LARDER_TRY(LockstepRecord record,
             replay(*trace, arguments.config, [&](const LockstepTotals& totals) {
               progress.show(totals);
               return true;
             }));
  record.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  record.trace = arguments.trace.name();
  return record;
}

Status run(LockstepArguments& arguments) {
  arguments.config.verify = arguments.verify == "on";
  if (arguments.requests_max > 0) arguments.config.requests_max = arguments.requests_max;
  LARDER_TRY(LockstepRecord record, run_replay(arguments));
  if (!arguments.out.empty()) LARDER_CHECK(workloads::write_record(arguments.out, record));
  if (!arguments.json) return terminal::print(to_text(record));
  record.series.clear();
  return terminal::print(to_json(record));
}

}  // namespace

void add_lockstep(terminal::Command app, Status& outcome) {
  const terminal::Command command = app.add_subcommand(
      "lockstep", "Serves a trace from a simulated pool, one request after the other");
  command.footer(
      "For each request the pages of its prompt are read, and what is missing is put. It runs in "
      "lock step,\n"
      "so a real pool of the same nodes, replayed with larder replay, decides the same.\n"
      "Example: larder-sim lockstep conversation_trace.jsonl --nodes 4 --memory 2GiB --out "
      "build/lockstep");
  const auto arguments = std::make_shared<LockstepArguments>();
  ReplayConfig& config = arguments->config;
  add_trace_arguments(command, arguments->trace);
  terminal::add_number(command, "--nodes", config.nodes, "How many nodes the pool has");
  terminal::add_size(command, "--memory", config.memory, "What each node contributes");
  terminal::add_size(command, "--page-bytes", config.page_bytes,
                     "The KV cache of one block of the trace");
  command.add_option("--policy", config.policy, "The eviction policy").capture_default_str();
  terminal::add_number(command, "--requests-max", arguments->requests_max,
                       "Serve only so many requests of the trace; 0: all of it");
  terminal::add_number(command, "--warmup", config.warmup_requests,
                       "So many requests at the start fill the pool and are not counted");
  terminal::add_number(command, "--seed", config.seed, "Of where pages are placed");
  command
      .add_option("--verify", arguments->verify,
                  "on: pages are bytes, and each byte that is read is compared with what was put; "
                  "off: faster, and the pool may be of any size")
      .one_of({"on", "off"})
      .capture_default_str();
  command.add_option("--out", arguments->out,
                     "A directory, for sim.json: the numbers, and points over the requests. "
                     "larder-sim compare reads it");
  command.add_flag("--json", arguments->json, "Print the numbers as one JSON object");
  command.callback([arguments, &outcome] { outcome = run(*arguments); });
}

}  // namespace larder::sim
