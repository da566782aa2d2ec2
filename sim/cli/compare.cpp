#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/cli/commands.h"
#include "sim/cli/compare_runs.h"
#include "sim/report/comparison.h"
#include "sim/report/page.h"
#include "sim/report/table.h"
#include "terminal/command.h"
#include "terminal/output.h"
#include "workloads/output_file.h"

namespace larder::sim {
namespace {

using nlohmann::ordered_json;
using workloads::LockstepPoint;

struct CompareArguments {
  std::string first;
  std::string second;
  std::string html;
  bool json = false;
};

// The record that a directory stands for: it must hold one of the two names.
Result<std::filesystem::path> record_file(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return path;
  const std::filesystem::path real = path / "real.json";
  const std::filesystem::path sim = path / "sim.json";
  const bool has_real = std::filesystem::exists(real, error);
  const bool has_sim = std::filesystem::exists(sim, error);
  if (has_real && has_sim) {
    return failed(ErrorCode::invalid_params,
                  path.string() + " has a real.json and a sim.json: name one of the files");
  }
  if (!has_real && !has_sim) {
    return failed(ErrorCode::file_not_found,
                  path.string() + ": there is no real.json and no sim.json in this directory");
  }
  return has_real ? real : sim;
}

Result<workloads::LockstepRecord> read(const std::string& argument) {
  LARDER_TRY(const std::filesystem::path file, record_file(argument));
  return workloads::read_record(file);
}

ordered_json to_json(const LockstepPoint& point) {
  return {{"page_hits", point.page_hits},
          {"pages", point.pages},
          {"puts", point.puts},
          {"evictions", point.evictions},
          {"decision_digest", fmt::format("{:016x}", point.decision_digest)}};
}

ordered_json to_json(const Comparison& comparison) {
  ordered_json object{{"agree", comparison.agree},
                      {"verdict", comparison.verdict()},
                      {"different_settings", comparison.different_settings()},
                      {"parting", nullptr}};
  if (const auto& parting = comparison.parting) {
    object["parting"] = {{"agreed_until_request", parting->agreed},
                         {"differ_at_request", parting->differs},
                         {"first", to_json(parting->first)},
                         {"second", to_json(parting->second)}};
  }
  for (const auto& [name, record] :
       {std::pair("first", &comparison.first), std::pair("second", &comparison.second)}) {
    workloads::LockstepRecord numbers = *record;
    numbers.series.clear();
    object[name] = ordered_json::parse(workloads::to_json(numbers));
  }
  return object;
}

std::string to_text(const Comparison& comparison) {
  const std::array records{comparison.first, comparison.second};
  const auto [a, b] = comparison.names();
  std::vector<ReportRow> rows{{.name = "", .values = {a, b}}};
  for (ReportRow& row : setting_rows(records)) rows.push_back(std::move(row));
  rows.push_back({.name = "", .values = {"", ""}});
  for (ReportRow& row : result_rows(records)) rows.push_back(std::move(row));
  return to_text(rows);
}

// Exit code 1 without an Error: both files were read, they only say different things.
constexpr int could_not_be_done = 1;

Status run(const CompareArguments& arguments) {
  if (is_run(arguments.first) || is_run(arguments.second)) {
    if (!arguments.html.empty()) {
      return failed(
          ErrorCode::invalid_params,
          "--html is for runs in lock step; larder-sim report makes a page of each of these");
    }
    return compare_runs(arguments.first, arguments.second, arguments.json);
  }
  LARDER_TRY(workloads::LockstepRecord first, read(arguments.first));
  LARDER_TRY(workloads::LockstepRecord second, read(arguments.second));
  const Comparison comparison = Comparison::of(std::move(first), std::move(second));
  if (!arguments.html.empty()) {
    LARDER_TRY(auto file, workloads::OutputFile::create(arguments.html));
    LARDER_CHECK(file.write(to_html(comparison)));
    LARDER_CHECK(file.commit());
  }
  LARDER_CHECK(terminal::print(arguments.json ? to_json(comparison).dump(2) + "\n"
                                              : to_text(comparison) + "\n"));
  if (!comparison.agree) {
    fmt::print(stderr, "larder-sim: {}\n", comparison.verdict());
    terminal::end_with(could_not_be_done);
  }
  return arguments.json ? Status() : terminal::print(comparison.verdict() + "\n");
}

}  // namespace

void add_compare(terminal::Command app, Status& outcome) {
  const terminal::Command command =
      app.add_subcommand("compare", "Holds two runs against each other, side by side");
  command.footer(
      "Of two directories of larder-sim replay --out: which settings differ, and all numbers.\n"
      "Of two runs in lock step it fails (exit code 1) if their decisions are not the same: then "
      "it says where they part.\n"
      "Example: larder-sim compare build/demo/real build/demo/sim --html report.html");
  const auto arguments = std::make_shared<CompareArguments>();
  const std::string what =
      "A directory with run.json (of larder-sim replay --out), real.json (of larder replay "
      "--out) or sim.json (of larder-sim lockstep --out), or such a file";
  command.add_option("FIRST", arguments->first, what).required();
  command.add_option("SECOND", arguments->second, "The same, of the other run").required();
  command.add_option("--html", arguments->html,
                     "Write a report with plots to this file, of two runs in lock step");
  command.add_flag("--json", arguments->json,
                   "Print one JSON object {agree, verdict, different_settings, parting, first, "
                   "second}");
  command.callback([arguments, &outcome] { outcome = run(*arguments); });
}

}  // namespace larder::sim
