#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/printable.h"
#include "sim/calibration/call_costs.h"
#include "sim/cli/commands.h"
#include "sim/cli/jobs.h"
#include "sim/cli/run_progress.h"
#include "sim/cli/setting_arguments.h"
#include "sim/cli/sweep_files.h"
#include "sim/cli/text_file.h"
#include "sim/cli/trace_arguments.h"
#include "sim/planning/run.h"
#include "sim/planning/sweep_spec.h"
#include "terminal/arguments.h"
#include "terminal/command.h"
#include "terminal/output.h"
#include "terminal/progress.h"

namespace larder::sim {
namespace {

using terminal::with_thousands;

struct SweepArguments {
  std::string spec;
  std::string out;
  std::string costs;
  std::uint32_t jobs = 1;
  bool resume = false;
  bool join = false;
};

// Errors that a trace or a file has are those of all runs, and end the sweep; what a setting cannot
// be is the result of its run.
Result<std::vector<std::string>> cells_of(const SweepSpec& spec, std::uint64_t number) {
  LARDER_TRY(Setting setting, spec.setting(number));
  LARDER_CHECK(load_parts(setting));
  LARDER_TRY(const auto trace, TraceArguments::of(spec.trace).open());
  RunWatcher watcher;
  const Result<Run> made = run(setting, *trace, watcher);
  if (made) return result_cells(*made);
  if (made.error().code() == ErrorCode::invalid_params) return error_cells(made.error());
  return std::unexpected(made.error());
}

// The runs that are this worker's and not done yet, by some threads.
class Workers {
 public:
  Workers(const SweepSpec& spec, SweepFiles& files, std::vector<std::uint64_t> runs)
      : spec_(spec), files_(files), runs_(std::move(runs)), bar_({.title = "swept"}) {}

  Status work(std::uint32_t jobs) {
    begin_ = std::chrono::steady_clock::now();
    {
      std::vector<std::jthread> threads;
      for (std::uint32_t i = 1; i < jobs; ++i) threads.emplace_back([this] { take_runs(); });
      take_runs();
    }
    return status_;
  }

  // An error where none of several could be. Some that cannot be are what a sweep is for.
  Status tell_of_errors() const {
    if (failed_ == 0) return {};
    const std::string text =
        fmt::format("{} of {} runs could not be, the first: {}", with_thousands(failed_),
                    with_thousands(done_), first_error_);
    if (failed_ == done_) return failed(ErrorCode::invalid_params, text);
    return terminal::print(text + "\n");
  }

 private:
  void take_runs() {
    while (!stopped_) {
      const std::size_t next = next_++;
      if (next >= runs_.size()) return;
      const auto cells = cells_of(spec_, runs_[next]);
      const std::scoped_lock lock(mutex_);
      Status written =
          cells ? files_.append(runs_[next], *cells) : Status(std::unexpected(cells.error()));
      if (!written) {
        stopped_ = true;
        if (status_) status_ = std::move(written);
        return;
      }
      ++done_;
      if (!cells->front().empty() && failed_++ == 0) first_error_ = cells->front();
      const double share = static_cast<double>(done_) / static_cast<double>(runs_.size());
      bar_.show(share, fmt::format("{} of {} runs, {}", with_thousands(done_),
                                   with_thousands(runs_.size()), time_left(begin_, share)));
    }
  }

  const SweepSpec& spec_;
  SweepFiles& files_;
  const std::vector<std::uint64_t> runs_;
  terminal::ProgressBar bar_;
  std::chrono::steady_clock::time_point begin_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  std::size_t done_ = 0;
  std::size_t failed_ = 0;
  std::string first_error_;
  Status status_;
};

// A worker that ends before others leaves runs to them; who asks for it alone wants all of them.
Status join(const SweepSpec& spec, const SweepFiles& files, const SweepArguments& arguments) {
  LARDER_TRY(const std::uint64_t missing, files.join());
  if (missing > 0) {
    const std::string text =
        fmt::format("{} of {} runs are not done yet: {}", with_thousands(missing),
                    with_thousands(spec.runs()), arguments.out);
    if (arguments.join) return failed(ErrorCode::unavailable_in_current_status, text);
    return terminal::print(text + "\n");
  }
  return terminal::print(
      fmt::format("{} runs: {}\n", with_thousands(spec.runs()), files.whole().string()));
}

Result<SweepSpec> read_spec(const std::string& path, const std::string& text) {
  Result<SweepSpec> spec = read_sweep(text);
  if (spec) return spec;
  return failed(spec.error().code(), printable(path, 200) + ": " + spec.error().facts().detail);
}

// The spec, with costs for all of its runs, each also at the ends of their intervals if it does not
// say where. Precondition: it can be read.
std::string with_costs(const std::string& text, const std::string& costs) {
  auto spec = nlohmann::ordered_json::parse(text);
  auto& setting = spec["setting"];
  auto& vary = spec["vary"];
  setting["costs"] = costs;
  if (!setting.contains("costs-at") && !vary.contains("costs-at")) {
    vary["costs-at"] = {costs_at_name(CostsAt::value), costs_at_name(CostsAt::fastest),
                        costs_at_name(CostsAt::slowest)};
  }
  return spec.dump(2) + "\n";
}

Status sweep(const SweepArguments& arguments) {
  LARDER_CHECK(check_jobs(arguments.jobs));
  LARDER_TRY(std::string text, read_text_file(arguments.spec));
  LARDER_TRY(SweepSpec spec, read_spec(arguments.spec, text));
  if (!arguments.costs.empty()) {
    text = with_costs(text, arguments.costs);
    LARDER_TRY(spec, read_spec(arguments.spec + " with --costs", text));
  }
  LARDER_TRY(const WorkerPlace place, worker_place());
  const bool again = arguments.resume || arguments.join;
  LARDER_TRY(SweepFiles files, SweepFiles::open(arguments.out, text, spec, place, again));
  if (!arguments.join) {
    std::vector<std::uint64_t> runs;
    for (std::uint64_t run = place.number; run < spec.runs(); run += place.workers) {
      if (!files.has(run)) runs.push_back(run);
    }
    Workers workers(spec, files, std::move(runs));
    LARDER_CHECK(workers.work(arguments.jobs));
    LARDER_CHECK(join(spec, files, arguments));
    return workers.tell_of_errors();
  }
  return join(spec, files, arguments);
}

}  // namespace

void add_sweep(terminal::Command app, Status& outcome) {
  const terminal::Command command =
      app.add_subcommand("sweep", "Replays a trace in many settings, into one CSV file");
  command.footer(
      "SPEC is JSON: {\"trace\": FILE, \"setting\": {PARAMETER: VALUE}, \"vary\": {PARAMETER: "
      "[VALUE, ...]\nor {\"from\", \"to\", \"step\" or \"factor\"}}, \"seeds\": 3}; parameters are "
      "the flags of replay.\nEach row is written as its run ends; --resume goes on after an "
      "interruption. Under mpirun or in a\nSlurm array the same command does its share of the "
      "runs, and who is last joins them.\n"
      "Example: larder-sim sweep sizes.json --out build/sweep --jobs 2");
  const auto arguments = std::make_shared<SweepArguments>();
  command.add_option("SPEC", arguments->spec, "What to run").required();
  command.add_option("--out", arguments->out, "A directory, for sweep.csv").required().not_empty();
  command
      .add_option("--costs", arguments->costs,
                  "Costs for all runs, as the flag of replay; each run then is also made at both "
                  "ends of their intervals, in rows of their own (costs-at)")
      .not_empty();
  terminal::add_number(command, "--jobs", arguments->jobs, "How many runs at once");
  command.add_flag("--resume", arguments->resume, "Do only what the directory has not yet");
  command.add_flag("--join", arguments->join,
                   "Run nothing: make sweep.csv of what the workers have written");
  command.callback([arguments, &outcome] { outcome = sweep(*arguments); });
}

}  // namespace larder::sim
