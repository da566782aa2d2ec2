#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/base/assert.h"
#include "sim/planning/parameters.h"
#include "sim/planning/run.h"
#include "sim/planning/run_comparison.h"
#include "sim/planning/run_file.h"
#include "sim/planning/run_tables.h"
#include "sim/report/plan_page.h"
#include "sim/report/run_page.h"
#include "tests/fuzzing/checks.h"
#include "tests/fuzzing/json_patch.h"
#include "workloads/generate.h"

// What a directory of a run has, as report, compare and explain read it. The first byte says which
// file, and whether the rest is that file or changes of a right one. A run that is accepted can be
// compared and made again, and what comes of that is accepted as the same; or its setting cannot
// be, and why is said in one line.

namespace larder::sim {
namespace {

using nlohmann::ordered_json;

constexpr std::uint64_t requests = 3;

// Two hosts of one GPU and one NIC: what is looked at is the files, not the machines.
Hardware small_hardware() {
  const Bytes rate{20'000'000'000};
  const HardwareHost host{
      .name = "small",
      .count = 2,
      .parts = {{.name = "s", .kind = PartKind::socket},
                {.name = "m", .kind = PartKind::dram, .capacity = Bytes{1ull << 40}},
                {.name = "r", .kind = PartKind::root_port},
                {.name = "g", .kind = PartKind::gpu, .capacity = Bytes{80ull << 30}},
                {.name = "n",
                 .kind = PartKind::nic,
                 .per_second = rate,
                 .messages_per_second = 100'000'000}},
      .links = {{.between = {"s", "m"}, .per_second = rate},
                {.between = {"s", "r"}, .per_second = rate},
                {.between = {"r", "g"}, .per_second = rate},
                {.between = {"r", "n"}, .per_second = rate}}};
  return {.hosts = {host}, .network = {}};
}

Setting small_setting() {
  Setting setting{.cluster = "small.json",
                  .model = "llama-3.1-8b",
                  .gpu = "h800",
                  .engines = 2,
                  .gpus_per_engine = 1,
                  .host_memory = Bytes{128ull << 30},
                  .nodes = 2,
                  .memory_per_node = Bytes{16ull << 30},
                  .intervals = 8};
  setting.hardware = small_hardware();
  setting.model_numbers = model_preset(setting.model).value();
  setting.faults = parse_faults("node:1@1s+1s,nic:host0/n@1s+1s").value();
  return setting;
}

// Gives it up when it takes long.
class Patience final : public RunWatcher {
 public:
  bool go_on(std::uint64_t, Duration) override { return ++looks_ < 20; }

 private:
  int looks_ = 0;
};

Result<Run> make_run(const Setting& setting) {
  const auto trace = workloads::generate_trace({.requests = requests, .requests_per_second = 4});
  Patience watcher;
  return run(setting, **trace, watcher);
}

struct RightFiles {
  ordered_json run;
  std::string links;
  ordered_json plan;
};
const RightFiles& right_files() {
  static const RightFiles files = [] {
    const Run run = make_run(small_setting()).value();
    RightFiles right{.run = ordered_json::parse(run_json(run, {.paths = {"trace.jsonl"}})),
                     .links = links_csv(run),
                     .plan = ordered_json::parse(R"({
        "format": "larder-plan", "version": 1, "objectives": ["ttft_p90<2s"], "cheapest": 0,
        "cheapest_without_one_node": null, "candidates": [{"cost_per_hour": 25.0,
        "name": "1 host", "varied": "", "error": "", "meets": true, "overloaded": false, "ttft_p90_s": 1.5,
        "hit_ratio": 0.3, "saved_gpu_s": 100, "on_ttft_frontier": true,
        "on_saved_frontier": false}]})")};
    LARDER_ASSERT(run_html({.run = right.run.dump(), .links = right.links}).has_value());
    LARDER_ASSERT(plan_html(right.plan.dump()).has_value());
    return right;
  }();
  return files;
}

std::string write_setting(const Setting& setting) {
  std::string text;
  for (const Parameter& parameter : parameters()) text += parameter.get(setting) + "\n";
  return text;
}

bool is_small(const Setting& setting) {
  std::uint64_t parts = 0;
  for (const HardwareHost& host : setting.hardware.hosts) {
    parts += (setting.hosts == 0 ? host.count : setting.hosts) * host.parts.size();
  }
  return parts < 1'000 && setting.nodes <= 16 && setting.engines <= 16 && setting.replicas <= 4 &&
         setting.intervals <= 1'000;
}

// Most changes are none of the setting, whose run is known.
bool is_right(const Setting& setting) {
  static const Setting right = small_setting();
  return setting.hardware == right.hardware && setting.model_numbers == right.model_numbers &&
         write_setting(setting) == write_setting(right);
}

// As explain does it.
void check_setting(const RunSummary& summary) {
  if (!is_small(summary.setting) || is_right(summary.setting)) return;
  const auto made = make_run(summary.setting);
  if (!made) {
    if (made.error().code() == ErrorCode::cancelled) return;
    return check_refusal(made.error(), ErrorCode::invalid_params);
  }
  const ServingTotals& totals = made->totals;
  LARDER_ASSERT(totals.arrived == totals.completed() + totals.rejected() + totals.failed());
  LARDER_ASSERT(totals.hits() <= totals.blocks);
  for (const auto& time : {made->ttft_mean_s(), made->ttft_s(0.99)}) {
    LARDER_ASSERT(!time || (std::isfinite(*time) && *time >= 0));
  }
  const std::string written = run_json(*made, summary.trace);
  const auto again = read_run(written);
  LARDER_ASSERT(again.has_value(), "what was made again is accepted");
  LARDER_ASSERT(again->trace == summary.trace && again->state_hash == made->state_hash);
  LARDER_ASSERT(write_setting(again->setting) == write_setting(made->setting),
                "and means the same");
}

void check_run(const std::string& text) {
  const auto page = run_html({.run = text, .links = right_files().links});
  if (!page) check_refusal(page.error(), ErrorCode::bad_file);
  const auto summary = read_run(text);
  const auto numbers = read_run_numbers(text);
  LARDER_ASSERT(summary.has_value() == numbers.has_value());
  if (!summary) return check_refusal(summary.error(), ErrorCode::bad_file);
  LARDER_ASSERT(summary->hits <= summary->pages, "hits are of the pages");
  static const RunNumbers right = read_run_numbers(right_files().run.dump()).value();
  for (const auto& [first, second] : {std::pair(&right, &*numbers), std::pair(&*numbers, &right)}) {
    std::string_view compared;
    const std::string all = comparison_text(*first, *second);
    for (std::string_view rest = all; !rest.empty(); rest.remove_prefix(compared.size() + 1)) {
      compared = rest.substr(0, rest.find('\n'));
      check_line(compared);
    }
    LARDER_ASSERT(!comparison_json(*first, *second).dump().empty());
  }
  check_setting(*summary);
}

void check_links(std::string_view text) {
  static const std::string right = right_files().run.dump();
  const auto page = run_html({.run = right, .links = text});
  if (!page) check_refusal(page.error(), ErrorCode::bad_file);
}

void check_plan(const std::string& text) {
  const auto page = plan_html(text);
  if (!page) check_refusal(page.error(), ErrorCode::bad_file);
}

void check(char kind, std::string_view rest) {
  switch (kind) {
    case 'r':
      return check_run(std::string(rest));
    case 'l':
      return check_links(rest);
    case 'p':
      return check_plan(std::string(rest));
    case 'P':
      return check_plan(patched(right_files().plan, rest));
    default:
      return check_run(patched(right_files().run, rest));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return check_by_kind(data, size, check);
}

}  // namespace larder::sim
