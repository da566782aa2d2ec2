#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/printable.h"
#include "sim/cache/hit_rates.h"
#include "sim/cli/commands.h"
#include "sim/cli/split.h"
#include "sim/cli/trace_arguments.h"
#include "terminal/arguments.h"
#include "terminal/command.h"
#include "terminal/output.h"

namespace larder::sim {
namespace {

using nlohmann::ordered_json;
using terminal::as_percent;
using terminal::parse_number;
using terminal::print;
using terminal::with_thousands;

constexpr std::string_view infinite = "inf";

std::string every_policy() { return fmt::format("{}", fmt::join(policy_names(), ",")); }

struct HitRateArguments {
  TraceArguments trace;
  std::string policies = every_policy() + ",belady";
  std::string sizes = "100,300,1000,10000,inf";
  std::uint64_t warmup_requests = 0;
  bool json = false;
};

Result<HitRateQuestion> question_of(const HitRateArguments& arguments) {
  HitRateQuestion question{.warmup_requests = arguments.warmup_requests};
  for (const std::string_view policy : split(arguments.policies, ',')) {
    question.policies.emplace_back(policy);
  }
  for (const std::string_view size : split(arguments.sizes, ',')) {
    std::uint64_t blocks = 0;
    if (size == infinite) {
      question.sizes.emplace_back(std::nullopt);
    } else if (parse_number(size, blocks)) {
      question.sizes.emplace_back(blocks);
    } else {
      return failed(ErrorCode::invalid_params,
                    "--blocks: " + in_quotes(size) + " is neither a number of blocks nor inf");
    }
  }
  return question;
}

ordered_json to_json(const std::vector<CachePoint>& points) {
  ordered_json list = ordered_json::array();
  for (const CachePoint& point : points) {
    ordered_json one{{"policy", point.policy}};
    if (point.blocks) {
      one["blocks"] = *point.blocks;
    } else {
      one["blocks"] = infinite;
    }
    one["accesses"] = point.accesses;
    one["hits"] = point.hits;
    one["hit_ratio"] = point.hit_ratio() ? ordered_json(*point.hit_ratio()) : ordered_json();
    list.push_back(std::move(one));
  }
  return list;
}

std::string size_name(const CacheBlocks& blocks) {
  if (!blocks) return std::string(infinite);
  return *blocks == 0 ? "no cache" : with_thousands(*blocks);
}

std::string to_text(const std::vector<CachePoint>& points) {
  std::string text = fmt::format("{:<14}{:>14}{:>14}{:>14}{:>14}\n", "policy", "blocks", "accesses",
                                 "hits", "hit ratio");
  for (const CachePoint& point : points) {
    text += fmt::format("{:<14}{:>14}{:>14}{:>14}{:>14}\n", point.policy, size_name(point.blocks),
                        with_thousands(point.accesses), with_thousands(point.hits),
                        as_percent(point.hit_ratio()));
  }
  return text;
}

Status run(const HitRateArguments& arguments) {
  LARDER_TRY(auto question, question_of(arguments));
  // Wrong names are wrong usage, whatever is wrong with the trace.
  LARDER_CHECK(HitRates::make(question));
  LARDER_TRY(const auto trace, arguments.trace.open());
  LARDER_TRY(const auto points, hit_rates(*trace, std::move(question)));
  return print(arguments.json ? to_json(points).dump(2) + "\n" : to_text(points));
}

}  // namespace

void add_hit_rate(terminal::Command app, Status& outcome) {
  const terminal::Command command = app.add_subcommand(
      "hit-rate", "Says how many blocks of a trace caches of some sizes find, under some policies");
  command.footer(
      "Each cache starts empty, and each block is looked up and then inserted at once.\n"
      "Example: larder-sim hit-rate conversation_trace.jsonl --policy lru,fifo --blocks 10000,inf");
  const auto arguments = std::make_shared<HitRateArguments>();
  add_trace_arguments(command, arguments->trace);
  command
      .add_option("--policy", arguments->policies,
                  "Eviction policies, separated by commas; belady: the bound that none exceeds, "
                  "which knows the future")
      .capture_default_str();
  command
      .add_option("--blocks", arguments->sizes,
                  "Sizes of the cache in blocks, separated by commas; inf: without limit")
      .capture_default_str();
  terminal::add_number(command, "--warmup", arguments->warmup_requests,
                       "So many requests at the start fill the caches and are not counted");
  command.add_flag(
      "--json", arguments->json,
      "Print an array of {policy, blocks, accesses, hits, hit_ratio}; the ratio is null "
      "where there were no accesses");
  command.callback([arguments, &outcome] { outcome = run(*arguments); });
}

}  // namespace larder::sim
