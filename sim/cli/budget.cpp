#include "sim/budget/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/base/size_text.h"
#include "core/topology/topology.h"
#include "sim/cli/commands.h"
#include "sim/cli/hardware_argument.h"
#include "sim/cli/model_argument.h"
#include "sim/cli/trace_arguments.h"
#include "terminal/arguments.h"
#include "terminal/command.h"
#include "terminal/output.h"

namespace larder::sim {
namespace {

using nlohmann::ordered_json;
using terminal::as_percent;
using terminal::with_thousands;

struct BudgetArguments {
  TraceArguments trace;
  std::string cluster;
  std::string model;
  std::string kv_type = "fp16";
  std::string transport = "verbs";
  std::uint32_t hosts = 0;  // 0: as the file has it
  BudgetConfig config;
  std::string contributed;  // sizes; empty: not given
  std::string host_cache;
  std::string staging;
  std::string reserve;
  bool json = false;
};

// Where the bytes of a full segment are, and how that is known.
struct Packed {
  PackingShares shares;
  std::string source;
  std::uint64_t pages = 0;     // of the trace
  std::uint64_t refusals = 0;  // 0: the trace did not fill the segment
};

Status read_size(const char* option, const std::string& text, std::optional<Bytes>& size) {
  if (text.empty()) return {};
  const Result<Bytes> parsed = parse_size(text);
  if (!parsed) {
    return failed(ErrorCode::invalid_params,
                  std::string(option) + ": " + parsed.error().facts().detail);
  }
  size = *parsed;
  return {};
}

Status complete(BudgetArguments& arguments) {
  BudgetConfig& config = arguments.config;
  LARDER_TRY(config.hardware, load_hardware(arguments.cluster));
  if (arguments.hosts > 0) {
    if (config.hardware.hosts.size() > 1) {
      return failed(ErrorCode::invalid_params,
                    "--hosts: there are several kinds of host, each with its own count");
    }
    config.hardware.hosts[0].count = arguments.hosts;
  }
  LARDER_TRY(const Topology topology, Topology::make(config.hardware));
  (void)topology;  // it only has to be possible
  LARDER_TRY(config.model, load_model(arguments.model));
  config.kv_type = kv_type_named(arguments.kv_type).value();
  config.transport = arguments.transport == "tcp" ? Move::Transport::tcp : Move::Transport::verbs;
  LARDER_CHECK(read_size("--memory-per-node", arguments.contributed, config.contributed));
  LARDER_CHECK(read_size("--host-cache", arguments.host_cache, config.host_cache));
  LARDER_CHECK(read_size("--staging", arguments.staging, config.staging));
  LARDER_CHECK(read_size("--reserve", arguments.reserve, config.reserve));
  config.watermarks.low = std::min(config.watermarks.low, config.watermarks.high);
  if (config.page_tokens == 0) {
    return failed(ErrorCode::invalid_params, "--page-tokens: a page has at least one token");
  }
  return {};
}

Result<Packed> pack(const BudgetArguments& arguments) {
  const BudgetConfig& config = arguments.config;
  const PageShape page = page_shape(config);
  const Bytes segment = segment_to_fill(config);
  LARDER_TRY(const PackingShares whole, whole_pages_packed(page, segment));
  if (arguments.trace.paths.empty()) {
    return Packed{.shares = whole, .source = "whole pages, without a trace"};
  }
  LARDER_TRY(PackingMeter meter, PackingMeter::make(page, segment));
  LARDER_TRY(const auto reader, arguments.trace.open());
  while (true) {
    LARDER_TRY(const workloads::Request* const request, reader->next());
    if (request == nullptr) break;
    LARDER_CHECK(meter.add(*request));
  }
  Packed packed{.shares = meter.shares().value_or(whole),
                .source = {},
                .pages = meter.pages(),
                .refusals = meter.refusals()};
  packed.source = packed.refusals > 0
                      ? fmt::format("{} pages of the trace, put into a segment of {}",
                                    with_thousands(packed.pages), size_text(segment))
                      : fmt::format("whole pages: the {} of the trace do not fill a segment of {}",
                                    with_thousands(packed.pages), size_text(segment));
  return packed;
}

// ---- for people ---------------------------------------------------------------------------------

std::string row(std::string_view title, Bytes bytes, Bytes of, std::string_view rule) {
  const std::optional<double> share =
      of == Bytes{}
          ? std::nullopt
          : std::optional(static_cast<double>(bytes.value) / static_cast<double>(of.value));
  std::string text =
      fmt::format("  {:<28}{:>12}{:>11}   {}", title, size_text(bytes), as_percent(share), rule);
  text.erase(text.find_last_not_of(' ') + 1);
  return text + '\n';
}

std::string to_text(const HostBudget& host) {
  std::string text =
      fmt::format("{}: {} of {} like it, {} of memory\n", host.kind,
                  host.with_master ? fmt::format("host{}, with the master,", host.first)
                                   : fmt::format("host{}", host.first),
                  with_thousands(host.count), size_text(host.installed));
  for (const BudgetPart& part : host.parts) {
    if (part.bytes > Bytes{}) text += row(part.title, part.bytes, host.installed, part.rule);
  }
  return text + row("left", host.left, host.installed, "") + "\n";
}

// How replay, sweep and plan are asked for such a pool, whose nodes are all alike.
std::string same_for_replay(const Budget& budget) {
  if (budget.hosts.size() != 1) return {};
  const HostBudget& host = budget.hosts.front();
  const Bytes of_node = (host.contributed / host.memories).rounded_down(std::uint64_t{1} << 20);
  if (of_node == Bytes{}) return {};
  std::string text = fmt::format("As a setting of replay: --nodes {} --memory-per-node {}",
                                 host.count * host.memories, exact_size_text(of_node));
  if (host.memories > 1) {
    text += fmt::format(", a node for each of a host's {} memories", host.memories);
  }
  return text + ".\n";
}

std::string to_text(const Budget& budget, const Packed& packed) {
  std::string text;
  for (const HostBudget& host : budget.hosts) text += to_text(host);
  text += fmt::format("The pool: {} contributed, pages of {}\n", size_text(budget.contributed),
                      size_text(budget.page));
  for (const BudgetPart& part : budget.use) {
    if (part.bytes > Bytes{}) text += row(part.title, part.bytes, budget.contributed, part.rule);
  }
  text += row("usable", budget.usable, budget.contributed,
              budget.replicas == 1 ? "one replica of each page"
                                   : fmt::format("{} replicas of each page", budget.replicas));
  text += fmt::format("\nUsable for {} tokens: {} pages at once, {} objects.\nMeasured with {}.\n",
                      with_thousands(budget.tokens), with_thousands(budget.pages),
                      with_thousands(budget.objects), packed.source);
  return text + same_for_replay(budget);
}

// ---- for programs -------------------------------------------------------------------------------

ordered_json to_json(const std::vector<BudgetPart>& parts) {
  ordered_json all = ordered_json::array();
  for (const BudgetPart& part : parts) {
    all.push_back({{"part", part.name}, {"bytes", part.bytes.value}, {"rule", part.rule}});
  }
  return all;
}

ordered_json to_json(const Budget& budget, const Packed& packed) {
  ordered_json hosts = ordered_json::array();
  for (const HostBudget& host : budget.hosts) {
    hosts.push_back({{"kind", host.kind},
                     {"first_host", host.first},
                     {"count", host.count},
                     {"with_master", host.with_master},
                     {"memory_bytes", host.installed.value},
                     {"parts", to_json(host.parts)},
                     {"left_bytes", host.left.value}});
  }
  return {{"hosts", std::move(hosts)},
          {"contributed_bytes", budget.contributed.value},
          {"use", to_json(budget.use)},
          {"replicas", budget.replicas},
          {"payload_bytes", budget.payload.value},
          {"usable_bytes", budget.usable.value},
          {"page_bytes", budget.page.value},
          {"pages", budget.pages},
          {"objects", budget.objects},
          {"tokens", budget.tokens},
          {"master_bytes_each_object", budget.master_each_object.value},
          {"node_bytes_each_replica", budget.node_each_replica.value},
          {"measured", {{"trace_pages", packed.pages}, {"refusals", packed.refusals}}}};
}

Status run(BudgetArguments& arguments) {
  LARDER_CHECK(complete(arguments));
  LARDER_TRY(const Packed packed, pack(arguments));
  LARDER_TRY(const Budget budget, make_budget(arguments.config, packed.shares));
  if (arguments.json) return terminal::print(to_json(budget, packed).dump(2) + "\n");
  return terminal::print(to_text(budget, packed));
}

}  // namespace

void add_budget(terminal::Command app, Status& outcome) {
  const terminal::Command command = app.add_subcommand(
      "budget", "What the memory of a host goes to, and how much KV such a pool keeps");
  command.footer(
      "What does not fit is refused, with the largest part. With a TRACE, what the allocator "
      "cannot\n"
      "use is measured with its pages; without one, with whole pages.\n"
      "Example: larder-sim budget --cluster 8xh800-8x200 --model llama-3.1-70b --replicas 2");
  const auto arguments = std::make_shared<BudgetArguments>();
  BudgetConfig& config = arguments->config;
  add_trace_arguments(command, arguments->trace);
  command.option("TRACE").required(false);
  command
      .add_option("--cluster", arguments->cluster,
                  "The name of a hardware preset, or a file (larder-sim hardware)")
      .required();
  command.add_option("--model", arguments->model, "The name of a model preset, or a file")
      .required();
  terminal::add_number(command, "--hosts", arguments->hosts,
                       "So many hosts, where there is one kind of them; 0: as it says itself");
  command.add_option("--kv-type", arguments->kv_type, "fp16 or fp8")
      .one_of({"fp16", "fp8"})
      .capture_default_str();
  terminal::add_number(command, "--page-tokens", config.page_tokens, "Tokens in a page");
  terminal::add_number(command, "--engines", config.engines,
                       "On each host that has GPUs, which they divide among them");
  command
      .add_option("--memory-per-node", arguments->contributed,
                  "What each host contributes to the pool; without it: all that is left")
      .type_name("SIZE");
  command
      .add_option("--host-cache", arguments->host_cache,
                  "Of the engines of a host together; without it: twice the KV on their GPUs")
      .type_name("SIZE");
  command
      .add_option("--staging", arguments->staging,
                  "Buffers of each engine in each direction, 0 where bytes go straight between "
                  "engine and pool; without it: a batch of pages")
      .type_name("SIZE");
  command
      .add_option("--reserve", arguments->reserve,
                  "For the system and other processes of a host; without it: 16 GiB, and 8 GiB "
                  "for each GPU")
      .type_name("SIZE");
  terminal::add_number(command, "--replicas", config.replicas, "Copies of each page");
  terminal::add_number(command, "--high-watermark", config.watermarks.high,
                       "The share of the pool above which pages are evicted");
  command.add_option("--transport", arguments->transport, "verbs or tcp")
      .one_of({"verbs", "tcp"})
      .capture_default_str();
  command.add_flag("--cut-pages", config.cut_pages,
                   "A page that a prompt ends in takes the place of its own tokens, not of a "
                   "whole page");
  command.add_flag("--json", arguments->json,
                   "Print {hosts: [{kind, parts: [{part, bytes, rule}], left_bytes}], use, "
                   "usable_bytes, pages, tokens ...}");
  command.callback([arguments, &outcome] { outcome = run(*arguments); });
}

}  // namespace larder::sim
