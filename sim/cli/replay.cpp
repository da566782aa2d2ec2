#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/printable.h"
#include "sim/cli/commands.h"
#include "sim/cli/run_directory.h"
#include "sim/cli/run_progress.h"
#include "sim/cli/run_text.h"
#include "sim/cli/setting_arguments.h"
#include "sim/cli/trace_arguments.h"
#include "sim/planning/run.h"
#include "sim/planning/run_file.h"
#include "sim/planning/run_tables.h"
#include "sim/planning/spread.h"
#include "sim/report/run_page.h"
#include "terminal/arguments.h"
#include "terminal/command.h"
#include "terminal/output.h"
#include "terminal/progress.h"
#include "workloads/output_file.h"

namespace larder::sim {
namespace {

struct ReplayArguments {
  TraceArguments trace;
  Setting setting;
  std::string out;
  std::string html;
  std::uint32_t seeds = 1;
  bool misses = false;
  bool json = false;
};

// Writes the requests as they end, and shows how far the run is.
class Watcher final : public RunWatcher {
 public:
  Watcher(std::optional<RunDirectory>& directory, RunProgress& progress)
      : directory_(directory), progress_(progress) {}

 private:
  void ended(const ServedRequest& request) override {
    if (directory_) directory_->take(request);
  }
  bool go_on(std::uint64_t requests_ended, Duration) override {
    progress_.show(requests_ended);
    return true;
  }

  std::optional<RunDirectory>& directory_;
  RunProgress& progress_;
};

// The setting once more with each other seed, and with each at the ends of the calibration's
// intervals.
Result<Spread> spread_of(const ReplayArguments& arguments, const Run& first) {
  Spread spread;
  spread.add(first);
  terminal::ProgressBar bar({.title = "other seeds and costs"});
  Setting setting = arguments.setting;
  for (std::uint32_t i = 0; i < arguments.seeds; ++i, ++setting.seed) {
    std::vector<Setting> all = at_the_ends(setting);
    if (i > 0) all.push_back(setting);
    for (const Setting& other : all) {
      bar.show(static_cast<double>(i) / arguments.seeds, "");
      LARDER_TRY(const auto trace, arguments.trace.open());
      RunWatcher watcher;
      LARDER_TRY(const Run made, sim::run(other, *trace, watcher));
      spread.add(made);
    }
  }
  return spread;
}

Status run_replay(ReplayArguments& arguments) {
  if (arguments.seeds == 0) {
    return failed(ErrorCode::invalid_params, "--seeds must be at least 1");
  }
  if (arguments.misses && arguments.out.empty()) {
    return failed(ErrorCode::invalid_params, "--misses writes a file, so it needs --out");
  }
  const TraceName name = arguments.trace.trace_name();
  for (const std::string& path : name.paths) {
    if (printable(path) == path) continue;
    return failed(ErrorCode::invalid_params,
                  "TRACE: " + in_quotes(path) +
                      " is no UTF-8 without control characters, as run.json has to name it");
  }
  LARDER_CHECK(load_parts(arguments.setting));
  LARDER_CHECK(arguments.setting.check());
  LARDER_TRY(const auto trace, arguments.trace.open());
  std::optional<RunDirectory> directory;
  if (!arguments.out.empty()) {
    LARDER_TRY(RunDirectory made, RunDirectory::create(arguments.out, arguments.misses));
    directory.emplace(std::move(made));
  }
  std::optional<workloads::OutputFile> html;
  if (!arguments.html.empty()) {
    LARDER_TRY(workloads::OutputFile file, workloads::OutputFile::create(arguments.html));
    html.emplace(std::move(file));
  }
  std::optional<RunProgress> progress(std::in_place, arguments.trace,
                                      arguments.setting.requests_max);
  Watcher watcher(directory, *progress);
  LARDER_TRY(const Run run, sim::run(arguments.setting, *trace, watcher, {.pool_curve = true}));
  progress.reset();  // ends its line
  LARDER_TRY(const Spread spread, spread_of(arguments, run));
  const std::string json = run_json(run, name, spread);
  if (directory) LARDER_CHECK(directory->commit(run, name, spread));
  if (html) {
    LARDER_TRY(const std::string page, run_html({.run = json, .links = links_csv(run)}));
    LARDER_CHECK(html->write(page));
    LARDER_CHECK(html->commit());
  }
  return terminal::print(arguments.json ? json : run_text(run, arguments.trace.name(), spread));
}

}  // namespace

void add_replay(terminal::Command app, Status& outcome) {
  const terminal::Command command =
      app.add_subcommand("replay", "Simulates a deployment, engines and pool, under a trace");
  command.footer(
      "Engines with GPU and host caches, the pool behind them, and the network between: hit "
      "rates,\n"
      "times to first token, misses by reason, use of links (docs/planning.md).\n"
      "Example: larder-sim replay conversation_trace.jsonl --cluster 8xh800-8x200 --model "
      "llama-3.1-70b --engines 8 --nodes 8 --memory-per-node 512GiB --out build/run");
  const auto arguments = std::make_shared<ReplayArguments>();
  add_trace_arguments(command, arguments->trace);
  add_setting_arguments(command, arguments->setting);
  terminal::add_number(command, "--seeds", arguments->seeds,
                       "Replay it with so many seeds, from --seed on, and show the spread");
  command
      .add_option("--out", arguments->out,
                  "A directory, for run.json, timeline.csv, requests.csv and links.csv")
      .not_empty();
  command.add_flag("--misses", arguments->misses,
                   "Also misses.csv: a row for each page that was missed, and why");
  command
      .add_option("--html", arguments->html,
                  "A file, for the page that larder-sim report makes of the same")
      .not_empty();
  command.add_flag("--json", arguments->json, "Print what run.json has");
  command.callback([arguments, &outcome] { outcome = run_replay(*arguments); });
}

}  // namespace larder::sim
