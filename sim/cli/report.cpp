#include <filesystem>
#include <memory>
#include <string>

#include "core/base/printable.h"
#include "sim/cli/commands.h"
#include "sim/cli/text_file.h"
#include "sim/report/plan_page.h"
#include "sim/report/run_page.h"
#include "terminal/command.h"
#include "terminal/output.h"

namespace larder::sim {
namespace {

// Of a large cluster: 64 intervals, 100 bytes for each edge that carried something.
constexpr std::size_t links_bytes_max = std::size_t{256} << 20;

struct ReportArguments {
  std::filesystem::path directory;
  std::string out;
};

bool has(const std::filesystem::path& directory, const char* name) {
  std::error_code missing;
  return std::filesystem::exists(directory / name, missing);
}

Result<std::string> page_of(const std::filesystem::path& directory) {
  if (!has(directory, "run.json") && has(directory, "plan.json")) {
    LARDER_TRY(const std::string plan, read_text_file((directory / "plan.json").string()));
    return plan_html(plan);
  }
  std::error_code error;
  if (!has(directory, "run.json") && std::filesystem::is_directory(directory, error)) {
    return failed(
        ErrorCode::file_not_found,
        printable(directory.string(), 200) +
            ": has neither a run.json (of replay --out) nor a plan.json (of plan --out)" +
            (has(directory, "sweep.csv") ? "; a sweep.csv is for notebooks/capacity_planning.ipynb"
                                         : ""));
  }
  LARDER_TRY(const std::string run, read_text_file((directory / "run.json").string()));
  std::string links;
  if (has(directory, "links.csv")) {
    LARDER_TRY(links, read_text_file((directory / "links.csv").string(), links_bytes_max));
  }
  return run_html({.run = run, .links = links});
}

Status run(const ReportArguments& arguments) {
  const std::filesystem::path& directory = arguments.directory;
  const Result<std::string> page = page_of(directory);
  if (!page && page.error().code() == ErrorCode::bad_file) {
    return failed(ErrorCode::bad_file,
                  printable(directory.string(), 200) + ": " + page.error().facts().detail);
  }
  if (!page) return std::unexpected(page.error());
  const std::string out =
      arguments.out.empty() ? (directory / "report.html").string() : arguments.out;
  LARDER_CHECK(write_text_file(out, *page));
  return terminal::print("Report: " + printable(out) + "\n");
}

}  // namespace

void add_report(terminal::Command app, Status& outcome) {
  const terminal::Command command = app.add_subcommand(
      "report", "A page to look at, of the files that replay --out or plan --out wrote");
  command.footer(
      "One HTML file that needs no network, for screens from a phone's on and for print: hit rate\n"
      "and time to first token over time with the faults in it, why pages were missed, the pool,\n"
      "and the use of each link over a drawing of the hosts. Of a plan: the frontiers.\n"
      "Example: larder-sim report build/run");
  const auto arguments = std::make_shared<ReportArguments>();
  command.add_option("DIR", arguments->directory, "What replay or plan was given as --out")
      .required();
  command.add_option("--out", arguments->out, "The file; without it: report.html in DIR")
      .not_empty();
  command.callback([arguments, &outcome] { outcome = run(*arguments); });
}

}  // namespace larder::sim
