#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "core/base/size_text.h"
#include "real/cli/commands.h"
#include "real/cli/json_output.h"
#include "real/cli/pool_options.h"
#include "terminal/output.h"

namespace larder::real {
namespace {

using terminal::with_thousands;

ordered_json counts_json(const std::vector<std::pair<std::string, std::uint64_t>>& counts) {
  ordered_json json = ordered_json::object();
  for (const auto& [name, count] : counts) json[name] = count;
  return json;
}

ordered_json to_json(const StatusReport& report, const std::string& master) {
  ordered_json nodes = ordered_json::array();
  for (const StatusReport::Node& node : report.nodes) {
    nodes.push_back({{"name", node.name},
                     {"state", node.state},
                     {"endpoint", node.endpoint},
                     {"host", node.host},
                     {"capacity", node.capacity.value},
                     {"used", node.used.value},
                     {"quarantined", node.quarantined.value},
                     {"replicas", node.objects},
                     {"since_heartbeat_s", in_seconds(node.since_heartbeat)}});
  }
  return {{"master", master},
          {"epoch", report.epoch.value},
          {"recovering", report.recovering},
          {"objects", report.objects},
          {"unfinished_puts", report.unfinished_puts},
          {"sessions", report.sessions},
          {"capacity", report.capacity.value},
          {"used", report.used.value},
          {"quarantined", report.quarantined.value},
          {"free", report.free.value},
          {"largest_free", report.largest_free.value},
          {"oldest_quarantine_s", in_seconds(report.oldest_quarantine)},
          {"oldest_quarantine_holder", report.oldest_quarantine_holder},
          {"puts", report.puts},
          {"gets", report.gets},
          {"hits", report.hits},
          {"evicted_objects", report.evicted_objects},
          {"evicted_bytes", report.evicted_bytes.value},
          {"eviction_skips", counts_json(report.eviction_skips)},
          {"refusals", counts_json(report.refusals)},
          {"nodes", nodes}};
}

std::optional<double> share(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

std::string line(std::string_view name, const std::string& value) {
  return fmt::format("{:<12}{}\n", name, value);
}

// "a 3, b 1" of those that are not zero; "none".
std::string counts_text(const std::vector<std::pair<std::string, std::uint64_t>>& counts) {
  std::string text;
  for (const auto& [name, count] : counts) {
    if (count == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, with_thousands(count));
  }
  return text.empty() ? "none" : text;
}

std::string nodes_text(const StatusReport& report) {
  if (report.nodes.empty()) return "\nno node has come yet: larder node --master HOST:PORT\n";
  constexpr std::string_view row = "{:<24} {:<10} {:<22} {:>12} {:>12} {:>12} {:>10} {:>12}\n";
  std::string text = "\n" + fmt::format(row, "node", "state", "endpoint", "capacity", "used",
                                        "quarantine", "replicas", "heard of");
  for (const StatusReport::Node& node : report.nodes) {
    text +=
        fmt::format(row, node.name, node.state, node.endpoint, size_text(node.capacity),
                    size_text(node.used), size_text(node.quarantined), with_thousands(node.objects),
                    fmt::format("{:.1f} s ago", in_seconds(node.since_heartbeat)));
  }
  return text;
}

std::string to_text(const StatusReport& report, const std::string& master) {
  std::string quarantine = size_text(report.quarantined);
  if (report.quarantined > 0_B) {
    quarantine +=
        fmt::format(", the oldest for {:.1f} s, held by {}", in_seconds(report.oldest_quarantine),
                    report.oldest_quarantine_holder);
  }
  return line("master", fmt::format("{}, epoch {}{}", master, report.epoch.value,
                                    report.recovering ? ", recovering" : "")) +
         line("capacity", fmt::format("{}, {} free, {} in one piece", size_text(report.capacity),
                                      size_text(report.free), size_text(report.largest_free))) +
         line("used",
              fmt::format("{} ({})", size_text(report.used),
                          terminal::as_percent(share(report.used.value, report.capacity.value)))) +
         line("quarantine", quarantine) +
         line("objects", fmt::format("{}, {} puts unfinished", with_thousands(report.objects),
                                     with_thousands(report.unfinished_puts))) +
         line("sessions", with_thousands(report.sessions)) +
         line("puts", with_thousands(report.puts)) +
         line("gets", fmt::format("{}, hits {}", with_thousands(report.gets),
                                  terminal::as_percent(share(report.hits, report.gets)))) +
         line("evicted",
              fmt::format("{} objects, {}; passed over: {}", with_thousands(report.evicted_objects),
                          size_text(report.evicted_bytes), counts_text(report.eviction_skips))) +
         line("refused", counts_text(report.refusals)) + nodes_text(report);
}

struct StatusArguments {
  PoolOptions pool;
  bool json = false;
};

Status run(const StatusArguments& arguments) {
  LARDER_TRY(const auto pool, arguments.pool.connect());
  LARDER_TRY(const StatusReport report,
             pool->run(pool->client().status(arguments.pool.deadline(*pool, 0_B))));
  const std::string& master = arguments.pool.master;
  return terminal::print(arguments.json ? to_line(to_json(report, master))
                                        : to_text(report, master));
}

}  // namespace

void add_status(CLI::App& app, Status& outcome) {
  CLI::App* command = app.add_subcommand("status", "Shows what a pool holds and how its nodes are");
  command->footer(
      "How full it is, what it had to evict and to refuse, and each node.\n"
      "Example: larder status --master 10.0.0.1");
  const auto arguments = std::make_shared<StatusArguments>();
  add_pool_options(*command, arguments->pool);
  command->add_flag("--json", arguments->json,
                    "Print one object with all of it; sizes in bytes, times in seconds");
  command->callback([arguments, &outcome] { outcome = run(*arguments); });
}

}  // namespace larder::real
