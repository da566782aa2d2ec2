#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json_problem.h"
#include "core/base/printable.h"
#include "sim/cache/hit_rates.h"
#include "sim/cli/commands.h"
#include "terminal/command.h"
#include "terminal/output.h"
#include "workloads/input_file.h"
#include "workloads/trace.h"

namespace larder::sim {
namespace {

using terminal::print;
using terminal::with_thousands;

constexpr std::size_t file_bytes_max = std::size_t{1} << 20;

struct ComparedTrace {
  std::string path;  // below the folder of traces
  std::vector<CacheBlocks> sizes;
};
struct PolicyStudy {
  std::vector<ComparedTrace> traces;
  std::vector<std::string> policies;
};
struct PoliciesArguments {
  std::filesystem::path file;
  std::filesystem::path folder;
};

// What one policy made of all traces.
struct Score {
  double miss_ratios = 0;  // their sum over all traces and sizes
  std::uint64_t misses = 0;
};

std::unexpected<Error> wrong(std::string what) {
  return failed(ErrorCode::bad_file, std::move(what));
}

// An object with these keys and no others, at `place` of the file.
Status check_keys(const nlohmann::json& object, const std::string& place,
                  const std::vector<std::string>& keys) {
  const std::string shown = place.empty() ? "the file" : place;
  if (!object.is_object()) {
    return wrong(shown + " is no object with the keys " + fmt::format("{}", fmt::join(keys, ", ")));
  }
  for (const auto& [key, value] : object.items()) {
    if (std::ranges::find(keys, key) == keys.end()) {
      return wrong(shown + " has the unknown key " + in_quotes(key) + "; known are " +
                   fmt::format("{}", fmt::join(keys, ", ")));
    }
  }
  for (const std::string& key : keys) {
    if (!object.contains(key))
      return wrong(place + (place.empty() ? "" : ".") + key + " is missing");
  }
  return {};
}

// A list that is not empty and has only what `good` says.
template <class Good>
Status check_list(const nlohmann::json& list, const std::string& place, const char* of_what,
                  Good&& good) {
  if (list.is_array() && !list.empty() && std::ranges::all_of(list, good)) return {};
  return wrong(place + " wants a list of " + of_what + ", with at least one");
}

Result<PolicyStudy> parse_study(const nlohmann::json& json) {
  constexpr auto any = [](const nlohmann::json&) { return true; };
  constexpr auto is_text = [](const nlohmann::json& value) { return value.is_string(); };
  constexpr auto is_size = [](const nlohmann::json& value) { return value.is_number_unsigned(); };
  LARDER_CHECK(check_keys(json, "", {"policies", "traces"}));
  LARDER_CHECK(check_list(json["policies"], "policies", "names", is_text));
  LARDER_CHECK(check_list(json["traces"], "traces", "objects", any));
  PolicyStudy study{.traces = {}, .policies = json["policies"].get<std::vector<std::string>>()};
  for (std::size_t i = 0; i < json["traces"].size(); ++i) {
    const auto& trace = json["traces"][i];
    const std::string place = "traces[" + std::to_string(i) + "]";
    LARDER_CHECK(check_keys(trace, place, {"path", "blocks"}));
    if (!is_text(trace["path"])) return wrong(place + ".path wants a name");
    LARDER_CHECK(check_list(trace["blocks"], place + ".blocks", "whole numbers", is_size));
    ComparedTrace& one = study.traces.emplace_back();
    one.path = trace["path"];
    for (const std::uint64_t blocks : trace["blocks"]) one.sizes.emplace_back(blocks);
  }
  return study;
}

Result<PolicyStudy> read_study(const std::filesystem::path& path) {
  LARDER_TRY(workloads::InputFile file, workloads::InputFile::open(path));
  LARDER_TRY(const std::string text, file.rest(file_bytes_max));
  Result<PolicyStudy> study = [&]() -> Result<PolicyStudy> {
    try {
      return parse_study(nlohmann::json::parse(text));
    } catch (const nlohmann::json::exception& error) {
      return wrong(json_problem(error));
    }
  }();
  if (study) return study;
  return failed(ErrorCode::bad_file, path.string() + ": " + study.error().facts().detail);
}

std::string row(const std::string& name, const std::vector<std::string>& columns) {
  std::string text = fmt::format("{:<14}", name);
  for (const std::string& column : columns) text += fmt::format("{:>12}", column);
  return text + "\n";
}

// The misses of each policy in each size; adds them to the scores.
Result<std::string> table(const PolicyStudy& study, const ComparedTrace& trace,
                          const std::filesystem::path& folder,
                          std::map<std::string, Score>& scores) {
  const std::vector<std::filesystem::path> paths{folder / trace.path};
  LARDER_TRY(const auto reader, workloads::open_trace(paths));
  LARDER_TRY(const auto points,
             hit_rates(*reader, {.policies = study.policies, .sizes = trace.sizes}));
  std::vector<std::string> columns;
  for (const CacheBlocks& size : trace.sizes) columns.push_back(with_thousands(*size));
  std::string text = "\nMisses of " + with_thousands(points.front().accesses) + " accesses in " +
                     trace.path + ", by the blocks that the cache holds\n" + row("", columns);
  auto point = points.begin();
  for (const std::string& policy : study.policies) {
    columns.clear();
    for (std::size_t i = 0; i < trace.sizes.size(); ++i, ++point) {
      // What is not reached from the start of its request is no use.
      const std::uint64_t misses = point->accesses - point->leading_hits;
      columns.push_back(with_thousands(misses));
      scores[policy].misses += misses;
      scores[policy].miss_ratios +=
          static_cast<double>(misses) / static_cast<double>(point->accesses);
    }
    text += row(policy, columns);
  }
  return text;
}

Status run(const PoliciesArguments& arguments) {
  LARDER_TRY(const PolicyStudy study, read_study(arguments.file));
  std::map<std::string, Score> scores;
  std::size_t points = 0;
  for (const ComparedTrace& trace : study.traces) {
    LARDER_TRY(const std::string text, table(study, trace, arguments.folder, scores));
    LARDER_CHECK(print(text));
    points += trace.sizes.size();
  }
  std::vector<std::pair<std::string, Score>> best(scores.begin(), scores.end());
  std::ranges::sort(best, {}, [](const auto& each) { return each.second.miss_ratios; });
  std::string text =
      "\nAll together, the lowest miss ratio first\n" + row("", {"miss ratio", "misses"});
  for (const auto& [policy, score] : best) {
    text += row(policy, {fmt::format("{:.2f} %", 100 * score.miss_ratios / double(points)),
                         with_thousands(score.misses)});
  }
  return print(text + "The miss ratio is the mean over all traces and sizes.\n");
}

}  // namespace

void add_policies(terminal::Command app, Status& outcome) {
  const terminal::Command command = app.add_subcommand(
      "policies", "Compares eviction policies over the traces and sizes that a file names");
  command.footer(
      "The file is JSON: {\"policies\": [NAME, ...], \"traces\": [{\"path\": FILE_OR_FOLDER, "
      "\"blocks\": [SIZE, ...]}, ...]}.\nA block counts as missed unless all before it in its "
      "request are there too.\n"
      "Example: larder-sim policies docs/decisions/0007-sweep.json $LARDER_TRACES");
  const auto arguments = std::make_shared<PoliciesArguments>();
  command.add_option("FILE", arguments->file, "What to compare").required();
  command.add_option("TRACES", arguments->folder, "The folder in which the file's traces are")
      .required();
  command.callback([arguments, &outcome] { outcome = run(*arguments); });
}

}  // namespace larder::sim
