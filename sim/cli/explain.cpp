#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/printable.h"
#include "sim/cli/commands.h"
#include "sim/cli/run_directory.h"
#include "sim/cli/run_progress.h"
#include "sim/cli/trace_arguments.h"
#include "sim/planning/one_more.h"
#include "sim/planning/perfect_cache.h"
#include "sim/planning/run.h"
#include "sim/planning/run_tables.h"
#include "sim/planning/trace_window.h"
#include "terminal/arguments.h"
#include "terminal/command.h"
#include "terminal/output.h"

namespace larder::sim {
namespace {

using nlohmann::ordered_json;
using terminal::as_percent;
using terminal::as_time;
using terminal::with_thousands;

struct ExplainArguments {
  std::string directory;
  std::optional<std::string> request;
  std::optional<std::string> key;
  bool bottleneck = false;
  bool json = false;
};

std::string reason_text(MissReason reason) {
  std::string text(miss_reason_name(reason));
  std::ranges::replace(text, '_', ' ');
  return text;
}

constexpr std::array<std::string_view, miss_reasons> meanings{
    "asked for the first time, or never put",
    "it had been there, and made room for others",
    "its put was still under way",
    "it was on a node, or behind a NIC, that was gone",
    "its put found no room",
    "its put found room, but not in one piece",
    "it was there, and did not come in time",
    "it was there, but a page before it was not",
    "the engine did not ask the pool: too little to fetch, or no host memory for it"};

// What became of one page of one request.
struct PageStory {
  std::uint64_t request = 0;
  Instant at{};
  std::uint32_t engine = 0;
  std::size_t page = 0;
  std::string what;
};

// Makes the run again, and looks at each page that had to be computed.
class Explainer final : public RunWatcher {
 public:
  Explainer(const PerfectCache& perfect, std::optional<std::uint64_t> request,
            std::optional<std::uint64_t> key, RunProgress& progress)
      : perfect_(perfect), request_(request), key_(key), progress_(progress) {}

  std::uint64_t kept() const { return kept_; }
  const std::optional<ServedRequest>& request() const { return found_; }
  const std::vector<PageStory>& stories() const { return stories_; }
  std::string what(const ServedRequest& request, std::size_t page) const {
    const RequestRecord& record = request.record;
    if (page < record.gpu_hits) return "on the GPUs";
    if (page < std::uint64_t{record.gpu_hits} + record.host_hits) return "on the host";
    if (page < record.hits()) return "from the pool";
    const MissReason reason = request.missing[page];
    std::string text = reason_text(reason);
    if (reason == MissReason::evicted) {
      text += perfect_.had(record.number, page) ? " (Belady would have kept it)"
                                                : " (nor would Belady have kept it)";
    }
    return text;
  }

 private:
  void ended(const ServedRequest& request) override {
    const RequestRecord& record = request.record;
    if (request_ == record.number) found_ = request;
    if (record.prefill_begin == instant_never) return;
    for (std::size_t page = record.hits(); page < request.blocks.size(); ++page) {
      if (request.missing[page] == MissReason::evicted && perfect_.had(record.number, page)) {
        ++kept_;
      }
    }
    if (!key_) return;
    const auto at = std::ranges::find(request.blocks, *key_);
    if (at == request.blocks.end()) return;
    const auto page = static_cast<std::size_t>(at - request.blocks.begin());
    stories_.push_back({.request = record.number,
                        .at = record.prefill_begin,
                        .engine = record.engine,
                        .page = page,
                        .what = what(request, page)});
  }
  bool go_on(std::uint64_t requests_ended, Duration) override {
    progress_.show(requests_ended);
    return true;
  }

  const PerfectCache& perfect_;
  const std::optional<std::uint64_t> request_;
  const std::optional<std::uint64_t> key_;
  RunProgress& progress_;
  std::uint64_t kept_ = 0;
  std::optional<ServedRequest> found_;
  std::vector<PageStory> stories_;
};

// ---- for people ---------------------------------------------------------------------------------

std::string misses_text(const Run& run, std::uint64_t kept) {
  const ServingTotals& totals = run.totals;
  const std::uint64_t missed = totals.blocks - totals.hits();
  std::string text = fmt::format("{} of {} pages were missed\n\n", with_thousands(missed),
                                 with_thousands(totals.blocks));
  for (std::size_t i = 0; i < miss_reasons; ++i) {
    if (totals.misses[i] == 0) continue;
    const double share = static_cast<double>(totals.misses[i]) / static_cast<double>(missed);
    text += fmt::format("{:<14}{:>12}{:>10}  {}\n", reason_text(static_cast<MissReason>(i)),
                        with_thousands(totals.misses[i]), as_percent(share), meanings[i]);
  }
  const std::uint64_t evicted = totals.misses[static_cast<std::size_t>(MissReason::evicted)];
  if (evicted > 0) {
    text += fmt::format(
        "\nOf the evicted ones a cache of {} pages that knows the future (Belady) would have kept "
        "{}, for which\na better policy could help; for the other {} only more memory can.\n",
        with_thousands(run.sizes.pool_pages), with_thousands(kept), with_thousands(evicted - kept));
  }
  return text;
}

std::string since(Instant at) {
  return at == instant_never ? "never" : fmt::format("{:.6f} s", seconds_of(at - Instant{}));
}

std::string request_text(const ServedRequest& request, const Explainer& explainer) {
  const RequestRecord& record = request.record;
  std::string text = fmt::format(
      "request {}: {} tokens in, {} out, engine {}, {}\n\narrived       {}\nfetched until {}\n"
      "computed from {}\nfirst token   {}\nended         {}\n\n",
      record.number, with_thousands(record.input_tokens), with_thousands(record.output_tokens),
      record.engine, outcome_name(record.outcome), since(record.arrival),
      since(record.prefetch_end), since(record.prefill_begin), since(record.first_token),
      since(record.end));
  if (record.prefill_begin == instant_never) return text;
  // Pages that follow each other and share their fate are one line.
  for (std::size_t page = 0; page < request.blocks.size();) {
    const std::string what = explainer.what(request, page);
    std::size_t end = page + 1;
    while (end < request.blocks.size() && explainer.what(request, end) == what) ++end;
    const std::string pages =
        end == page + 1 ? fmt::format("page {}", page) : fmt::format("pages {}-{}", page, end - 1);
    text += fmt::format("{:<16}{}\n", pages, what);
    page = end;
  }
  return text;
}

std::string stories_text(std::uint64_t key, const std::vector<PageStory>& stories) {
  std::string text =
      fmt::format("page {} was asked for by {} {}\n\n", key, with_thousands(stories.size()),
                  stories.size() == 1 ? "request" : "requests");
  for (const PageStory& story : stories) {
    text += fmt::format("{:>16}  request {:<8} engine {:<4} page {:<5} {}\n", since(story.at),
                        story.request, story.engine, story.page, story.what);
  }
  return text;
}

// ---- the bottleneck -----------------------------------------------------------------------------

struct Gain {
  OneMore more;
  Run run;
};

Result<std::vector<Gain>> try_each(const Setting& setting, const TraceArguments& trace) {
  std::vector<Gain> gains;
  terminal::ProgressBar bar({.title = "one more of each"});
  std::vector<OneMore> all = one_more_of_each(setting);
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(all.size());
    bar.show(share, fmt::format("{}, {}", all[i].resource, time_left(begin, share)));
    LARDER_TRY(const auto reader, trace.open());
    RunWatcher watcher;
    LARDER_TRY(Run made, run(all[i].setting, *reader, watcher));
    gains.push_back({.more = std::move(all[i]), .run = std::move(made)});
  }
  const auto ttft = [](const Gain& gain) { return gain.run.ttft_mean_s().value_or(0); };
  std::ranges::sort(gains, {}, [&](const Gain& gain) {
    return std::tuple(ttft(gain), -static_cast<std::int64_t>(gain.run.totals.hits()),
                      gain.more.resource);
  });
  return gains;
}

std::string gains_row(const std::string& name, const Run& run, const std::string& change) {
  const auto time = [](std::optional<double> seconds) {
    return seconds ? as_time(*seconds) : std::string("-");
  };
  return fmt::format("{:<16}{:>12}{:>12}{:>12}{:>12}  {}\n", name, time(run.ttft_mean_s()),
                     time(run.ttft_s(0.9)), as_percent(run.totals.hit_ratio()),
                     with_thousands(run.totals.hits()), change);
}

std::string gains_text(const Run& base, const std::vector<Gain>& gains) {
  std::string text = fmt::format("\nWith one more of each\n\n{:<16}{:>12}{:>12}{:>12}{:>12}\n", "",
                                 "TTFT mean", "TTFT p90", "hit ratio", "hits");
  text += gains_row("as it is", base, "");
  for (const Gain& gain : gains) {
    text += gains_row(gain.more.resource, gain.run, gain.more.change);
  }
  if (gains.empty()) return text;
  const Gain& best = gains.front();
  const double before = base.ttft_mean_s().value_or(0);
  const double after = best.run.ttft_mean_s().value_or(0);
  if (before > 0 && after < before * 0.99) {
    text += fmt::format(
        "\nThe bottleneck is {}: one more makes the mean time to first token {} shorter.\n",
        best.more.resource, as_percent((before - after) / before));
  } else {
    text +=
        "\nNo single resource is a bottleneck: one more of none makes the mean time to first "
        "token 1 % shorter.\n";
  }
  return text;
}

// ---- for programs -------------------------------------------------------------------------------

ordered_json to_json(const Run& run, const Explainer& explainer, const std::vector<Gain>& gains) {
  ordered_json misses;
  std::uint64_t missed = 0;
  for (std::size_t i = 0; i < miss_reasons; ++i) {
    misses[std::string(miss_reason_name(static_cast<MissReason>(i)))] = run.totals.misses[i];
    missed += run.totals.misses[i];
  }
  const std::uint64_t evicted = run.totals.misses[static_cast<std::size_t>(MissReason::evicted)];
  ordered_json object{{"pages", run.totals.blocks},
                      {"missed", missed},
                      {"misses_by_reason", std::move(misses)},
                      {"evicted_belady_kept", explainer.kept()},
                      {"evicted_belady_lost", evicted - explainer.kept()}};
  if (const auto& request = explainer.request()) {
    ordered_json pages = ordered_json::array();
    for (std::size_t page = 0; page < request->missing.size(); ++page) {
      pages.push_back(
          {{"page_id", request->blocks[page]}, {"what", explainer.what(*request, page)}});
    }
    object["request"] = {{"request", request->record.number}, {"pages", std::move(pages)}};
  }
  if (!explainer.stories().empty()) {
    ordered_json stories = ordered_json::array();
    for (const PageStory& story : explainer.stories()) {
      stories.push_back({{"request", story.request},
                         {"at_s", seconds_of(story.at - Instant{})},
                         {"engine", story.engine},
                         {"page", story.page},
                         {"what", story.what}});
    }
    object["key"] = std::move(stories);
  }
  if (gains.empty()) return object;
  const auto numbers = [](std::string name, const Run& of) -> ordered_json {
    const auto maybe = [](std::optional<double> value) {
      return value ? ordered_json(*value) : ordered_json();
    };
    return {{"resource", std::move(name)},
            {"ttft_mean_s", maybe(of.ttft_mean_s())},
            {"ttft_p90_s", maybe(of.ttft_s(0.9))},
            {"hit_ratio", maybe(of.totals.hit_ratio())},
            {"hits", of.totals.hits()}};
  };
  ordered_json list = ordered_json::array({numbers("as it is", run)});
  for (const Gain& gain : gains) {
    list.push_back(numbers(gain.more.resource, gain.run));
    list.back()["change"] = gain.more.change;
  }
  object["one_more_of_each"] = std::move(list);
  return object;
}

// ---- the command --------------------------------------------------------------------------------

Result<std::optional<std::uint64_t>> number_of(const char* flag,
                                               const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  std::uint64_t number = 0;
  if (terminal::parse_number(*text, number)) return number;
  return failed(ErrorCode::invalid_params,
                std::string(flag) + ": " + in_quotes(*text) + " is no number of the trace");
}

Result<PerfectCache> perfect_cache(const Setting& setting, const TraceArguments& trace) {
  LARDER_TRY(const auto reader, trace.open());
  TraceWindow window(*reader, {.requests_max = setting.requests_max});
  LARDER_TRY(const workloads::Request* const first, window.first());
  const std::uint32_t block = first == nullptr ? 1 : first->block_tokens;
  LARDER_TRY(const Sizes sizes, sizes_of(setting, block));
  return PerfectCache::of(window, {.page_tokens = sizes.page_tokens, .pages = sizes.pool_pages});
}

Status explain(const ExplainArguments& arguments) {
  LARDER_TRY(const auto request, number_of("--request", arguments.request));
  LARDER_TRY(const auto key, number_of("--key", arguments.key));
  LARDER_TRY(const RunSummary summary, read_run_of(arguments.directory));
  const TraceArguments trace = TraceArguments::of(summary.trace);
  LARDER_TRY(const PerfectCache perfect, perfect_cache(summary.setting, trace));
  LARDER_TRY(const auto reader, trace.open());
  std::optional<RunProgress> progress(std::in_place, trace, summary.setting.requests_max);
  Explainer explainer(perfect, request, key, *progress);
  LARDER_TRY(const Run again, run(summary.setting, *reader, explainer));
  progress.reset();
  if (again.state_hash != summary.state_hash) {
    return failed(ErrorCode::bad_file,
                  printable(arguments.directory, 200) +
                      ": made again, the run is another one: the trace has changed since, or this "
                      "is another version of the program");
  }
  if (request && !explainer.request()) {
    return failed(ErrorCode::invalid_params, "--request: there are " +
                                                 std::to_string(again.totals.arrived) +
                                                 " requests, numbered from 0");
  }
  if (key && explainer.stories().empty()) {
    return failed(ErrorCode::invalid_params,
                  "--key: no request that began has the page " + std::to_string(*key));
  }
  std::vector<Gain> gains;
  if (arguments.bottleneck) {
    LARDER_TRY(gains, try_each(summary.setting, trace));
  }
  if (arguments.json) {
    return terminal::print(to_json(again, explainer, gains).dump(2) + "\n");
  }
  std::string text;
  if (request) text += request_text(*explainer.request(), explainer);
  if (key) text += stories_text(*key, explainer.stories());
  if (!request && !key) text += misses_text(again, explainer.kept());
  if (arguments.bottleneck) text += gains_text(again, gains);
  return terminal::print(text);
}

}  // namespace

void add_explain(terminal::Command app, Status& outcome) {
  const terminal::Command command =
      app.add_subcommand("explain", "Says why pages were missed in a replay, and what holds it up");
  command.footer(
      "The run is made again from what its run.json says, so the trace must still be there.\n"
      "Example: larder-sim explain build/run --bottleneck");
  const auto arguments = std::make_shared<ExplainArguments>();
  command.add_option("DIR", arguments->directory, "What larder-sim replay --out wrote").required();
  command.add_option("--request", arguments->request, "What one request found, page by page");
  command.add_option("--key", arguments->key,
                     "What became of one page of the trace, each time that it was asked for");
  command.add_flag("--bottleneck", arguments->bottleneck,
                   "Run it once more with one more of each resource");
  command.add_flag("--json", arguments->json, "Print one JSON object");
  command.callback([arguments, &outcome] { outcome = explain(*arguments); });
}

}  // namespace larder::sim
