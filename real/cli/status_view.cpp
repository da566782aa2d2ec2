#include "real/cli/status_view.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <string_view>

#include <map>
#include <optional>

#include "core/base/percent.h"
#include "core/base/size_text.h"
#include "terminal/output.h"

namespace larder::real {
namespace {

using namespace std::string_view_literals;

using terminal::with_thousands;
using Counts = std::vector<std::pair<std::string, std::uint64_t>>;

std::string time_text(Duration duration) { return terminal::as_time(in_seconds(duration)); }

// What all processes of one machine contribute.
struct HostTotal {
  std::size_t nodes = 0;
  Bytes capacity;
  Bytes used;
  Bytes quarantined;
};
std::map<std::string, HostTotal> hosts_of(const StatusReport& report) {
  std::map<std::string, HostTotal> hosts;
  for (const StatusReport::Node& node : report.nodes) {
    HostTotal& host = hosts[node.host];
    ++host.nodes;
    host.capacity += node.capacity;
    host.used += node.used;
    host.quarantined += node.quarantined;
  }
  return hosts;
}

struct Rate {
  const char* name;
  double per_second;
};
std::vector<Rate> rates_of(const StatusReport& now, const StatusChange& change) {
  const StatusReport* before = change.before;
  if (before == nullptr || before->epoch != now.epoch || change.seconds <= 0) return {};
  const auto rate = [&](const char* name, std::uint64_t from, std::uint64_t to) {
    return Rate{name, static_cast<double>(to - from) / change.seconds};
  };
  return {rate("puts", before->puts, now.puts), rate("gets", before->gets, now.gets),
          rate("hits", before->hits, now.hits),
          rate("evicted_objects", before->evicted_objects, now.evicted_objects),
          rate("evicted_bytes", before->evicted_bytes.value, now.evicted_bytes.value)};
}

ordered_json counts_json(const Counts& counts) {
  ordered_json json = ordered_json::object();
  for (const auto& [name, count] : counts) json[name] = count;
  return json;
}

ordered_json nodes_json(const StatusReport& report) {
  ordered_json nodes = ordered_json::array();
  for (const StatusReport::Node& node : report.nodes) {
    nodes.push_back({{"name", percent_escaped(node.name)},
                     {"state", node.state},
                     {"in_state_s", in_seconds(node.in_state)},
                     {"endpoint", node.endpoint},
                     {"host", percent_escaped(node.host)},
                     {"capacity", node.capacity.value},
                     {"used", node.used.value},
                     {"quarantined", node.quarantined.value},
                     {"oldest_quarantine_s", in_seconds(node.oldest_quarantine)},
                     {"replicas", node.objects},
                     {"only_copies", node.only_here},
                     {"since_heartbeat_s", in_seconds(node.since_heartbeat)}});
  }
  return nodes;
}

std::optional<double> share(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

std::string line(std::string_view name, const std::string& value) {
  return fmt::format("{:<12}{}\n", name, value);
}

// "a 3, b 1" of those that are not zero; "none".
std::string counts_text(const Counts& counts) {
  std::string text;
  for (const auto& [name, count] : counts) {
    if (count == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, with_thousands(count));
  }
  return text.empty() ? "none" : text;
}

std::string nodes_text(const StatusReport& report) {
  if (report.nodes.empty()) {
    return fmt::format("\nno node {}: larder node --master HOST:PORT\n",
                       report.lost_nodes.empty() ? "has come yet" : "is left");
  }
  constexpr std::string_view row =
      "{:<24} {:<10} {:>9} {:<22} {:>12} {:>12} {:>12} {:>10} {:>12}\n";
  std::string text = "\n" + fmt::format(row, "node", "state", "for", "endpoint", "capacity", "used",
                                        "quarantine", "replicas", "heard of");
  for (const StatusReport::Node& node : report.nodes) {
    text += fmt::format(row, percent_escaped(node.name), node.state, time_text(node.in_state),
                        node.endpoint, size_text(node.capacity), size_text(node.used),
                        size_text(node.quarantined), with_thousands(node.objects),
                        time_text(node.since_heartbeat) + " ago");
  }
  const auto hosts = hosts_of(report);
  if (report.nodes.size() == 1) return text;
  constexpr std::string_view host_row = "{:<24} {:>6} {:>12} {:>12} {:>12}\n";
  text += "\n" + fmt::format(host_row, "host", "nodes", "capacity", "used", "quarantine");
  for (const auto& [name, host] : hosts) {
    text += fmt::format(host_row, percent_escaped(name), host.nodes, size_text(host.capacity),
                        size_text(host.used), size_text(host.quarantined));
  }
  return text;
}

std::string lost_text(const StatusReport& report) {
  std::string text;
  for (const StatusReport::LostNode& lost : report.lost_nodes) {
    text += fmt::format("{}lost {} ago: {} at {}: {}; with it {} objects, {}{}\n",
                        text.empty() ? "\n" : "", time_text(lost.ago), percent_escaped(lost.name),
                        lost.endpoint, lost.why, with_thousands(lost.objects),
                        size_text(lost.bytes), lost.cleared ? "" : " so far");
  }
  return text;
}

// Of the master's stages those by which people's values come and go; --json has them all.
bool concerns_values(std::string_view stage) {
  const std::string_view request = stage.substr(0, stage.find(' '));
  constexpr std::array shown{"PutStart"sv, "PutEnd"sv, "GetReplicaList"sv, "Exists"sv, "Remove"sv};
  return std::ranges::find(shown, request) != shown.end();
}

std::string stages_text(const StatusReport& report) {
  if (report.stages.empty()) return "";
  constexpr std::string_view row = "{:<24} {:<26} {:>12} {:>10} {:>10} {:>10}\n";
  std::string text = "\n" + fmt::format(row, "time of", "stage", "count", "p50", "p99", "longest");
  for (const StatusReport::Stage& stage : report.stages) {
    if (stage.where == "master" && !concerns_values(stage.stage)) continue;
    text += fmt::format(row, percent_escaped(stage.where), stage.stage, with_thousands(stage.count),
                        time_text(stage.p50), time_text(stage.p99), time_text(stage.longest));
  }
  return text;
}

std::string rates_text(const StatusReport& report, const StatusChange& change) {
  std::string text;
  for (const Rate& rate : rates_of(report, change)) {
    const bool bytes = std::string_view(rate.name) == "evicted_bytes";
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", rate.name,
                        bytes ? size_text({static_cast<std::uint64_t>(rate.per_second)})
                              : fmt::format("{:.1f}", rate.per_second));
  }
  return text.empty() ? "" : line("a second", text);
}

}  // namespace

ordered_json status_json(const StatusReport& report, const std::string& master,
                         const StatusChange& change) {
  ordered_json hosts = ordered_json::array();
  for (const auto& [name, host] : hosts_of(report)) {
    hosts.push_back({{"host", percent_escaped(name)},
                     {"nodes", host.nodes},
                     {"capacity", host.capacity.value},
                     {"used", host.used.value},
                     {"quarantined", host.quarantined.value}});
  }
  ordered_json lost = ordered_json::array();
  for (const StatusReport::LostNode& node : report.lost_nodes) {
    lost.push_back({{"name", percent_escaped(node.name)},
                    {"endpoint", node.endpoint},
                    {"why", node.why},
                    {"ago_s", in_seconds(node.ago)},
                    {"objects", node.objects},
                    {"bytes", node.bytes.value},
                    {"cleared", node.cleared}});
  }
  ordered_json stages = ordered_json::array();
  for (const StatusReport::Stage& stage : report.stages) {
    stages.push_back({{"where", percent_escaped(stage.where)},
                      {"stage", stage.stage},
                      {"count", stage.count},
                      {"p50_s", in_seconds(stage.p50)},
                      {"p99_s", in_seconds(stage.p99)},
                      {"longest_s", in_seconds(stage.longest)}});
  }
  ordered_json json{{"master", master},
                    {"epoch", report.epoch.value},
                    {"recovering", report.recovering},
                    {"objects", report.objects},
                    {"hidden_objects", report.hidden_objects},
                    {"unfinished_puts", report.unfinished_puts},
                    {"waiting_puts", report.waiting_puts},
                    {"sessions", report.sessions},
                    {"capacity", report.capacity.value},
                    {"used", report.used.value},
                    {"quarantined", report.quarantined.value},
                    {"free", report.free.value},
                    {"largest_free", report.largest_free.value},
                    {"hidden_capacity", report.hidden_capacity.value},
                    {"hidden_used", report.hidden_used.value},
                    {"hidden_quarantined", report.hidden_quarantined.value},
                    {"oldest_quarantine_s", in_seconds(report.oldest_quarantine)},
                    {"oldest_quarantine_holder", percent_escaped(report.oldest_quarantine_holder)},
                    {"puts", report.puts},
                    {"gets", report.gets},
                    {"hits", report.hits},
                    {"misses", report.gets - report.hits},
                    {"evicted_objects", report.evicted_objects},
                    {"evicted_bytes", report.evicted_bytes.value},
                    {"gone", counts_json(report.gone)},
                    {"eviction_skips", counts_json(report.eviction_skips)},
                    {"refusals", counts_json(report.refusals)},
                    {"nodes", nodes_json(report)},
                    {"hosts", std::move(hosts)},
                    {"lost_nodes", std::move(lost)},
                    {"stages", std::move(stages)}};
  if (const StatusReport::Recording& recording = report.recording; recording.on) {
    json["recording"] = {{"span_s", in_seconds(recording.span)},
                         {"bytes", recording.bytes.value},
                         {"dropped_calls", recording.dropped},
                         {"trouble", percent_escaped(recording.trouble)}};
  }
  if (change.before != nullptr) {
    ordered_json rates = ordered_json::object();
    for (const Rate& rate : rates_of(report, change)) rates[rate.name] = rate.per_second;
    json["per_second"] = std::move(rates);
  }
  return json;
}

namespace {

std::string recording_text(const StatusReport::Recording& recording) {
  const std::string kept =
      fmt::format("{}, in {}", time_text(recording.span), size_text(recording.bytes));
  std::string text = "the last " + kept;
  if (!recording.trouble.empty()) {
    text = fmt::format("it has stopped: {}; {}", percent_escaped(recording.trouble),
                       recording.bytes > 0_B ? "there are " + kept : "nothing is left");
  }
  if (recording.dropped > 0) {
    text += fmt::format("; {} calls could not be kept", with_thousands(recording.dropped));
  }
  return text;
}

}  // namespace

std::string status_text(const StatusReport& report, const std::string& master,
                        const StatusChange& change) {
  std::string quarantine = size_text(report.quarantined + report.hidden_quarantined);
  if (report.quarantined + report.hidden_quarantined > 0_B) {
    quarantine +=
        fmt::format(", the oldest for {}, held by {}", time_text(report.oldest_quarantine),
                    percent_escaped(report.oldest_quarantine_holder));
  }
  std::string text =
      line("master", fmt::format("{}, epoch {}{}", master, report.epoch.value,
                                 report.recovering ? ", recovering" : "")) +
      line("capacity", fmt::format("{}, {} free, {} in one piece", size_text(report.capacity),
                                   size_text(report.free), size_text(report.largest_free))) +
      line("used",
           fmt::format("{} ({})", size_text(report.used),
                       terminal::as_percent(share(report.used.value, report.capacity.value)))) +
      line("quarantine", quarantine);
  if (report.hidden_capacity > 0_B) {
    text += line("not shown",
                 fmt::format("{} more, {} of it used: the only copies of {} objects",
                             size_text(report.hidden_capacity), size_text(report.hidden_used),
                             with_thousands(report.hidden_objects)));
  }
  text += line(
      "objects",
      fmt::format("{} complete{}; {} puts unfinished, {} of them wait for space",
                  with_thousands(report.objects),
                  report.hidden_objects == 0 ? ""
                                             : fmt::format(" ({} only on nodes that are not shown)",
                                                           with_thousands(report.hidden_objects)),
                  with_thousands(report.unfinished_puts), with_thousands(report.waiting_puts)));
  text += line("gone", counts_text(report.gone));
  text += line("sessions", with_thousands(report.sessions));
  text += line("puts", with_thousands(report.puts));
  text += line("gets", fmt::format("{}, hits {}, misses {}", with_thousands(report.gets),
                                   terminal::as_percent(share(report.hits, report.gets)),
                                   with_thousands(report.gets - report.hits)));
  text +=
      line("evicted",
           fmt::format("{} objects, {}; passed over: {}", with_thousands(report.evicted_objects),
                       size_text(report.evicted_bytes), counts_text(report.eviction_skips)));
  text += line("refused", counts_text(report.refusals));
  if (const StatusReport::Recording& recording = report.recording; recording.on) {
    text += line("recording", recording_text(recording));
  }
  text += rates_text(report, change);
  return text + nodes_text(report) + lost_text(report) + stages_text(report);
}

}  // namespace larder::real
