#include <fmt/format.h>

#include <CLI/CLI.hpp>
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
#include "terminal/output.h"
#include "terminal/progress.h"
#include "workloads/lockstep/record.h"

namespace larder::sim {
namespace {

using workloads::LockstepRecord;
using workloads::LockstepTotals;

struct ReplayArguments {
  TraceArguments trace;
  ReplayConfig config;
  std::string out;
  std::string verify = "on";
  std::uint64_t requests_max = 0;  // 0: all
  bool json = false;
};

// "a.json, b.json", without their directories.
std::string trace_name(const TraceArguments& trace) {
  constexpr std::size_t names_max = 3;
  std::string name;
  for (std::size_t i = 0; i < std::min(trace.paths.size(), names_max); ++i) {
    const std::filesystem::path path = trace.paths[i].lexically_normal();
    name += (i == 0 ? "" : ", ") +
            (path.has_filename() ? path.filename() : path.parent_path().filename()).string();
  }
  if (trace.paths.size() > names_max) {
    name += fmt::format(" and {} more", trace.paths.size() - names_max);
  }
  return name;
}

// How many requests there are to serve, for the progress bar; nothing for what can be read only
// once or is broken, which the run itself will tell.
std::optional<std::uint64_t> count_requests(const TraceArguments& trace, std::uint64_t at_most) {
  const auto can_be_read_again = [](const std::filesystem::path& path) {
    std::error_code error;
    return std::filesystem::is_regular_file(path, error) ||
           std::filesystem::is_directory(path, error);
  };
  if (!std::ranges::all_of(trace.paths, can_be_read_again)) return std::nullopt;
  const auto reader = trace.open();
  if (!reader) return std::nullopt;
  std::uint64_t count = 0;
  for (; count < at_most; ++count) {
    const auto next = (*reader)->next();
    if (!next) return std::nullopt;
    if (*next == nullptr) break;
  }
  return count;
}

class Progress {
 public:
  explicit Progress(const ReplayArguments& arguments) : bar_({.title = "simulated"}) {
    if (bar_.visible()) {
      expected_ = count_requests(arguments.trace, arguments.config.requests_max);
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

Result<LockstepRecord> run_replay(const ReplayArguments& arguments) {
  LARDER_TRY(const auto trace, arguments.trace.open());
  Progress progress(arguments);
  const auto begin = std::chrono::steady_clock::now();
  LARDER_TRY(LockstepRecord record,
             replay(*trace, arguments.config, [&](const LockstepTotals& totals) {
               progress.show(totals);
               return true;
             }));
  record.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  record.trace = trace_name(arguments.trace);
  return record;
}

Status run(ReplayArguments& arguments) {
  arguments.config.verify = arguments.verify == "on";
  if (arguments.requests_max > 0) arguments.config.requests_max = arguments.requests_max;
  LARDER_TRY(LockstepRecord record, run_replay(arguments));
  if (!arguments.out.empty()) LARDER_CHECK(workloads::write_record(arguments.out, record));
  if (!arguments.json) return terminal::print(to_text(record));
  record.series.clear();
  return terminal::print(to_json(record));
}

}  // namespace

void add_replay(CLI::App& app, Status& outcome) {
  CLI::App* command = app.add_subcommand(
      "replay", "Serves a trace from a simulated pool, with the code that decides in a real one");
  command->footer(
      "For each request the pages of its prompt are read, and what is missing is put. It runs in "
      "lock step,\n"
      "so a real pool of the same nodes, replayed with larder replay, decides the same.\n"
      "Example: larder-sim replay conversation_trace.jsonl --nodes 4 --memory 2GiB --out "
      "build/replay");
  const auto arguments = std::make_shared<ReplayArguments>();
  ReplayConfig& config = arguments->config;
  add_trace_arguments(*command, arguments->trace);
  terminal::add_number(*command, "--nodes", config.nodes, "How many nodes the pool has");
  terminal::add_size(*command, "--memory", config.memory, "What each node contributes");
  terminal::add_size(*command, "--page-bytes", config.page_bytes,
                     "The KV cache of one block of the trace");
  command->add_option("--policy", config.policy, "The eviction policy")->capture_default_str();
  terminal::add_number(*command, "--requests-max", arguments->requests_max,
                       "Serve only so many requests of the trace; 0: all of it");
  terminal::add_number(*command, "--warmup", config.warmup_requests,
                       "So many requests at the start fill the pool and are not counted");
  terminal::add_number(*command, "--seed", config.seed, "Of where pages are placed");
  command
      ->add_option("--verify", arguments->verify,
                   "on: pages are bytes, and each byte that is read is compared with what was put; "
                   "off: faster, and the pool may be of any size")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  command->add_option("--out", arguments->out,
                      "A directory, for sim.json: the numbers, and points over the requests. "
                      "larder-sim compare reads it");
  command->add_flag("--json", arguments->json, "Print the numbers as one JSON object");
  command->callback([arguments, &outcome] { outcome = run(*arguments); });
}

}  // namespace larder::sim
