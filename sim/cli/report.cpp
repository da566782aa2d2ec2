#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "core/base/printable.h"
#include "sim/cli/commands.h"
#include "sim/cli/text_file.h"
#include "sim/report/run_page.h"
#include "terminal/output.h"

namespace larder::sim {
namespace {

// Of a large cluster: 64 intervals, 100 bytes for each edge that carried something.
constexpr std::size_t links_bytes_max = std::size_t{256} << 20;

struct ReportArguments {
  std::filesystem::path directory;
  std::string out;
};

Status run(const ReportArguments& arguments) {
  const std::filesystem::path& directory = arguments.directory;
  LARDER_TRY(const std::string run, read_text_file((directory / "run.json").string()));
  std::string links;
  std::error_code missing;
  if (std::filesystem::exists(directory / "links.csv", missing)) {
    LARDER_TRY(links, read_text_file((directory / "links.csv").string(), links_bytes_max));
  }
  const Result<std::string> html = run_html({.run = run, .links = links});
  if (!html) {
    return failed(html.error().code(),
                  printable(directory.string(), 200) + ": " + html.error().facts().detail);
  }
  const std::string out =
      arguments.out.empty() ? (directory / "report.html").string() : arguments.out;
  LARDER_CHECK(write_text_file(out, *html));
  return terminal::print("Report: " + printable(out) + "\n");
}

}  // namespace

void add_report(CLI::App& app, Status& outcome) {
  CLI::App* command =
      app.add_subcommand("report", "A page to look at, of the files that replay --out wrote");
  command->footer(
      "One HTML file that needs no network, for screens from a phone's on and for print: hit rate\n"
      "and time to first token over time with the faults in it, why pages were missed, the pool,\n"
      "and the use of each link over a drawing of the hosts.\n"
      "Example: larder-sim report build/run");
  const auto arguments = std::make_shared<ReportArguments>();
  command->add_option("DIR", arguments->directory, "What replay --out was given")->required();
  command->add_option("--out", arguments->out, "The file; without it: report.html in DIR");
  command->callback([arguments, &outcome] { outcome = run(*arguments); });
}

}  // namespace larder::sim
