#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "core/base/size_text.h"
#include "real/cli/commands.h"
#include "real/cli/configuration.h"
#include "real/cli/json_output.h"
#include "real/client/pool.h"
#include "real/rpc/handshake.h"
#include "real/system/doctor.h"
#include "terminal/arguments.h"
#include "terminal/command.h"
#include "terminal/output.h"

namespace larder::real {
namespace {

struct DoctorArguments {
  Bytes memory;
  std::vector<std::uint16_t> ports{7700};
  bool json = false;
};

// The epoch of a master begins with the milliseconds of its clock at its start.
Finding examine_master(const Configuration& configuration) {
  const std::string endpoint = to_string(configuration.pool_master);
  Finding finding{.subject = "master " + endpoint, .found = {}, .advice = {}};
  const auto begin = std::chrono::steady_clock::now();
  auto pool = Pool::open(
      {.master = endpoint, .tenant = configuration.tenant, .timeout = configuration.timeout});
  const auto status = pool ? pool->status() : std::unexpected(pool.error());
  if (!status) {
    finding.found = status.error().message();
    finding.verdict = Verdict::problem;
    finding.advice = "start one there (larder master), or name another with --master";
    return finding;
  }
  const auto took = std::chrono::steady_clock::now() - begin;
  const std::uint64_t started_ms = status->epoch.value >> 16;
  const auto now_ms =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                     std::chrono::system_clock::now().time_since_epoch())
                                     .count());
  finding.found = fmt::format("answered in {:.1f} ms, protocol {}, {} nodes, {} of {} used",
                              std::chrono::duration<double, std::milli>(took).count(),
                              to_string(protocol_version), status->nodes.size(),
                              size_text(status->used), size_text(status->capacity));
  if (started_ms > now_ms) {
    finding.found += fmt::format("; its epoch is {:.1f} s ahead of this machine's clock",
                                 static_cast<double>(started_ms - now_ms) / 1000);
    finding.verdict = Verdict::warning;
    finding.advice =
        "a master on this machine could not succeed it yet: set the clocks (chronyc makestep)";
  }
  return finding;
}

ordered_json to_json(const std::vector<Finding>& findings) {
  ordered_json list = ordered_json::array();
  for (const Finding& finding : findings) {
    list.push_back(
        {{"subject", finding.subject},
         {"found", finding.found},
         {"verdict", to_string(finding.verdict)},
         {"advice", finding.advice.empty() ? ordered_json() : ordered_json(finding.advice)}});
  }
  return list;
}

std::string to_text(const std::vector<Finding>& findings) {
  std::size_t width = 0;
  for (const Finding& finding : findings) width = std::max(width, finding.subject.size());
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format("{:<8} {:<{}}  {}\n", to_string(finding.verdict), finding.subject, width,
                        finding.found);
    if (!finding.advice.empty())
      text += fmt::format("{:>{}}-> {}\n", "", width + 11, finding.advice);
  }
  return text;
}

Status run(const DoctorArguments& arguments, const Configuration& configuration) {
  std::vector<Finding> findings =
      examine(read_machine_facts(), {.memory = arguments.memory, .ports = arguments.ports});
  findings.push_back(examine_boot_clock());
  if (configuration.settings.source(section::pool, "master") != Settings::Source::built_in) {
    findings.push_back(examine_master(configuration));
  }
  LARDER_CHECK(terminal::print(arguments.json ? to_line(to_json(findings)) : to_text(findings)));
  const auto problems = std::ranges::count(findings, Verdict::problem, &Finding::verdict);
  if (problems == 0) return {};
  return failed(ErrorCode::unavailable_in_current_status,
                fmt::format("{} problem{}", problems, problems == 1 ? "" : "s"));
}

}  // namespace

void add_doctor(terminal::Command app, Status& outcome) {
  const terminal::Command command =
      app.add_subcommand("doctor", "Says what of this machine helps or hinders a pool");
  command.footer(
      "For each thing: what was found, a verdict (good, note, warning, problem) and what to set. "
      "Asks\n"
      "the master too, if --master, LARDER_MASTER or a file names one. Exit code 1 if there is a "
      "problem.\n"
      "Example: larder doctor --memory 64GiB --master 10.0.0.1");
  const auto arguments = std::make_shared<DoctorArguments>();
  terminal::add_size(command, "--memory", arguments->memory,
                     "What a node here shall contribute; 0: not said");
  command.add_option("--port", arguments->ports, "Ports that shall be free")
      .capture_default_str()
      .in_range(1, 65535);
  const auto configuration =
      add_configuration(command, {section::pool, section::client, section::log});
  command.add_flag("--json", arguments->json,
                   "Print an array of {subject, found, verdict, advice}");
  command.callback(
      [arguments, configuration, &outcome] { outcome = run(*arguments, *configuration); });
}

}  // namespace larder::real
