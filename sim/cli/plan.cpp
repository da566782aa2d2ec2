#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/printable.h"
#include "core/base/size_text.h"
#include "sim/cli/commands.h"
#include "sim/cli/jobs.h"
#include "sim/cli/run_progress.h"
#include "sim/cli/run_text.h"
#include "sim/cli/setting_arguments.h"
#include "sim/cli/split.h"
#include "sim/cli/trace_arguments.h"
#include "sim/planning/parameters.h"
#include "sim/planning/plan.h"
#include "sim/planning/run.h"
#include "sim/planning/run_tables.h"
#include "sim/planning/spread.h"
#include "sim/planning/sweep_spec.h"
#include "terminal/arguments.h"
#include "terminal/command.h"
#include "terminal/output.h"
#include "terminal/progress.h"
#include "workloads/output_file.h"

namespace larder::sim {
namespace {

using nlohmann::ordered_json;

struct PlanArguments {
  TraceArguments trace;
  Setting setting;
  std::vector<std::string> slos;
  std::vector<std::string> vary;
  std::vector<std::string> prices;
  std::uint32_t fleets = 8;
  std::uint32_t jobs = 1;
  std::string out;
  bool json = false;
};

// A setting that was tried. Of its run only the numbers are kept.
struct Candidate {
  Setting setting;
  std::string name;  // what is varied in it
  Cost cost;
  std::string error;  // it cannot be
  bool meets = false;
  Spread spread;  // over the intervals of a calibration
  std::optional<double> ttft_p90_s;
  std::optional<double> measured;  // of the first objective
  std::optional<double> hit_ratio;
  double saved_gpu_s = 0;
  bool overloaded = false;
  Duration time{0};
  std::vector<std::string> notes;  // as of any run
  bool ttft_frontier = false;
  bool saved_frontier = false;
};

class Planner {
 public:
  Planner(const TraceArguments& trace, std::vector<Slo> slos)
      : trace_(trace), slos_(std::move(slos)) {}

  // Runs all of them, some at a time.
  Status run_all(std::vector<Candidate>& candidates, std::uint32_t jobs) {
    terminal::ProgressBar bar({.title = "planned"});
    const auto begin = std::chrono::steady_clock::now();
    std::atomic<std::size_t> next = 0;
    std::mutex mutex;
    std::size_t done = 0;
    Status status;
    const auto work = [&] {
      for (std::size_t i = next++; i < candidates.size(); i = next++) {
        Status tried = run_one(candidates[i]);
        const std::scoped_lock lock(mutex);
        if (!tried && status) status = std::move(tried);
        const double share = static_cast<double>(++done) / static_cast<double>(candidates.size());
        bar.show(share, fmt::format("{} of {} settings, {}", done, candidates.size(),
                                    time_left(begin, share)));
      }
    };
    {
      std::vector<std::jthread> threads;
      for (std::uint32_t i = 1; i < jobs; ++i) threads.emplace_back(work);
      work();
    }
    return status;
  }

  // Whether what comes after the loss of node 0, in the middle of the run and for ever, still meets
  // the objectives.
  Result<bool> survives(const Candidate& candidate) const {
    Setting setting = candidate.setting;
    const Duration middle = candidate.time / 2;
    setting.faults.push_back({.kind = PlannedFault::Kind::node, .number = 0, .at = middle});
    std::vector<Setting> all = at_the_ends(setting);
    all.push_back(setting);
    for (const Setting& each : all) {
      LARDER_TRY(const auto reader, trace_.open());
      RunWatcher watcher;
      LARDER_TRY(const Run made, run(each, *reader, watcher));
      if (!meets(made, slos_, middle)) return false;
    }
    return true;
  }

 private:
  Status run_one(Candidate& candidate) const {
    LARDER_TRY(const auto reader, trace_.open());
    RunWatcher watcher;
    const Result<Run> made = run(candidate.setting, *reader, watcher);
    if (!made && made.error().code() != ErrorCode::invalid_params) {
      return std::unexpected(made.error());
    }
    if (!made) {
      candidate.error = made.error().facts().detail;
      return {};
    }
    candidate.meets = meets(*made, slos_, Duration(0));
    candidate.spread.add(*made);
    for (const Setting& end : at_the_ends(candidate.setting)) {
      LARDER_TRY(const auto again, trace_.open());
      LARDER_TRY(const Run other, run(end, *again, watcher));
      candidate.meets = candidate.meets && meets(other, slos_, Duration(0));
      candidate.spread.add(other);
    }
    candidate.measured = measured(*made, slos_.front().metric, Duration(0));
    candidate.ttft_p90_s = made->ttft_s(0.9);
    candidate.hit_ratio = made->totals.hit_ratio();
    if (made->saved) {
      candidate.saved_gpu_s = seconds_of(made->saved->gpu + made->saved->host + made->saved->pool);
    }
    candidate.overloaded = made->pressure.overloaded();
    candidate.time = made->time;
    candidate.notes = made->notes;
    return {};
  }

  const TraceArguments& trace_;
  const std::vector<Slo> slos_;
};

// ---- what is tried ------------------------------------------------------------------------------

Status set_prices(Setting& setting, const std::vector<std::string>& prices) {
  for (const std::string& text : prices) {
    const std::size_t sign = text.find('=');
    constexpr double price_max = 1e9;
    double price = 0;
    if (sign == std::string::npos || !terminal::parse_number(text.substr(sign + 1), price) ||
        !(price >= 0 && price <= price_max)) {
      return failed(ErrorCode::invalid_params,
                    "--price: " + in_quotes(text) +
                        " is not KIND=AMOUNT, with an amount from 0 to 1000000000");
    }
    const std::string kind = text.substr(0, sign);
    const auto host = std::ranges::find(setting.hardware.hosts, kind, &HardwareHost::name);
    if (host == setting.hardware.hosts.end()) {
      return failed(ErrorCode::invalid_params,
                    "--price: the cluster has no hosts " + in_quotes(kind));
    }
    host->price_per_hour = price;
  }
  return check_hardware(setting.hardware);
}

Result<std::vector<Variation>> variations_of(const std::vector<std::string>& texts) {
  std::vector<Variation> variations;
  for (const std::string& text : texts) {
    const std::size_t sign = text.find('=');
    if (sign == std::string::npos) {
      return failed(ErrorCode::invalid_params,
                    "--vary: " + in_quotes(text) + " is not PARAMETER=VALUE,VALUE...");
    }
    Variation& variation = variations.emplace_back(Variation{.parameter = text.substr(0, sign)});
    for (const std::string_view value : split(std::string_view(text).substr(sign + 1), ',')) {
      variation.values.emplace_back(value);
    }
  }
  return variations;
}

bool varies_machines(const std::vector<Variation>& variations) {
  return std::ranges::any_of(variations, [](const Variation& variation) {
    return variation.parameter == "engines" || variation.parameter == "nodes" ||
           variation.parameter == "hosts" || variation.parameter == "cluster";
  });
}

Result<std::vector<Candidate>> candidates_of(const PlanArguments& arguments) {
  LARDER_TRY(const std::vector<Variation> variations, variations_of(arguments.vary));
  std::vector<Setting> fleets{arguments.setting};
  const bool by_fleet = !varies_machines(variations);
  if (by_fleet) {
    LARDER_TRY(fleets, smaller_fleets(arguments.setting, arguments.fleets));
  }
  std::vector<Candidate> candidates;
  for (const Setting& fleet : fleets) {
    std::vector<Candidate> of_fleet{{.setting = fleet, .name = {}}};
    for (const Variation& variation : variations) {
      std::vector<Candidate> more;
      for (const Candidate& one : of_fleet) {
        for (const std::string& value : variation.values) {
          Candidate& varied = more.emplace_back(one);
          LARDER_CHECK(set_parameter(varied.setting, variation.parameter, value));
          if (variation.parameter == "cluster" || variation.parameter == "model" ||
              variation.parameter == "costs") {
            LARDER_CHECK(load_parts(varied.setting));
            LARDER_CHECK(set_prices(varied.setting, arguments.prices));
          }
          varied.name += (varied.name.empty() ? "" : " ") + variation.parameter + "=" + value;
        }
      }
      of_fleet = std::move(more);
    }
    std::ranges::move(of_fleet, std::back_inserter(candidates));
  }
  for (Candidate& candidate : candidates) {
    const Result<Cost> cost = cost_of(candidate.setting);
    if (cost) {
      candidate.cost = *cost;
    } else if (cost.error().code() == ErrorCode::not_supported) {
      return failed(ErrorCode::invalid_params, cost.error().facts().detail);
    } else {
      candidate.error = cost.error().facts().detail;
    }
  }
  // What cannot be keeps its place at the end, to be told of.
  std::ranges::sort(candidates, [](const Candidate& a, const Candidate& b) {
    return std::tuple(!a.error.empty(), a.cost.per_hour, a.setting.engines, a.setting.nodes,
                      a.name) < std::tuple(!b.error.empty(), b.cost.per_hour, b.setting.engines,
                                           b.setting.nodes, b.name);
  });
  return candidates;
}

void mark_frontiers(std::vector<Candidate>& candidates) {
  std::vector<CostPoint> ttft;
  std::vector<CostPoint> saved;
  constexpr double none = -std::numeric_limits<double>::infinity();
  for (const Candidate& candidate : candidates) {
    const bool good = candidate.error.empty() && candidate.ttft_p90_s;
    ttft.push_back({candidate.cost.per_hour, good ? -*candidate.ttft_p90_s : none});
    saved.push_back({candidate.cost.per_hour, good ? candidate.saved_gpu_s : none});
  }
  const std::vector<bool> on_ttft = on_frontier(ttft);
  const std::vector<bool> on_saved = on_frontier(saved);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    candidates[i].ttft_frontier = on_ttft[i] && ttft[i].worth > none;
    candidates[i].saved_frontier = on_saved[i] && saved[i].worth > none;
  }
}

// ---- what comes of it ---------------------------------------------------------------------------

struct Plan {
  std::vector<Slo> slos;
  std::vector<Candidate> candidates;  // the cheapest first
  const Candidate* cheapest = nullptr;
  const Candidate* surviving = nullptr;  // the cheapest that also meets them without one node
};

std::string number_of(std::uint32_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string name_of(const Candidate& candidate) {
  const Setting& setting = candidate.setting;
  const std::string text = fmt::format(
      "{}, {} of {}", number_of(setting.engines, "engine"), number_of(setting.nodes, "node"),
      setting.memory_per_node ? size_text(*setting.memory_per_node) : "any size");
  return candidate.name.empty() ? text : text + " (" + candidate.name + ")";
}

std::string maybe_time(std::optional<double> seconds) {
  return seconds ? terminal::as_time(*seconds) : "no data";
}

std::string between_text(const Spread& spread) {
  const Spread::Figure& figure = spread.figure("ttft_p90_s");
  if (!figure.least) return "no data";
  return maybe_time(figure.least) + " to " + maybe_time(figure.most);
}

std::string plan_text(const Plan& plan) {
  const bool between = std::ranges::any_of(
      plan.candidates, [](const Candidate& candidate) { return candidate.spread.runs() > 1; });
  std::string text =
      fmt::format("{:>10}{:>7}{:>12}{}{:>11}{:>12}  {:<6}{:<10}{}\n", "cost/hour", "hosts",
                  "TTFT p90", between ? fmt::format("{:>22}", "between") : "", "hit ratio",
                  "GPU saved", "meets", "frontier", "setting");
  std::size_t cannot = 0;
  for (const Candidate& candidate : plan.candidates) {
    if (!candidate.error.empty()) {
      ++cannot;
      continue;
    }
    const std::string frontier = std::string(candidate.ttft_frontier ? "TTFT " : "") +
                                 (candidate.saved_frontier ? "GPU" : "");
    text +=
        fmt::format("{:>10.2f}{:>7}{:>12}{}{:>11}{:>12}  {:<6}{:<10}{}{}\n",
                    candidate.cost.per_hour, candidate.cost.hosts, maybe_time(candidate.ttft_p90_s),
                    between ? fmt::format("{:>22}", between_text(candidate.spread)) : "",
                    terminal::as_percent(candidate.hit_ratio),
                    terminal::as_time(candidate.saved_gpu_s), candidate.meets ? "yes" : "no",
                    frontier, name_of(candidate), candidate.overloaded ? ", overloaded" : "");
  }
  if (cannot > 0) {
    const auto first = std::ranges::find_if(
        plan.candidates, [](const Candidate& candidate) { return !candidate.error.empty(); });
    text += fmt::format("{} more cannot be; {}: {}\n", cannot, name_of(*first), first->error);
  }
  if (plan.cheapest == nullptr) return text + "\nNone of them meets the objectives.\n";
  text += fmt::format("\nThe cheapest that meets the objectives: {:.2f} an hour, {}.\n",
                      plan.cheapest->cost.per_hour, name_of(*plan.cheapest));
  text += notes_text(plan.cheapest->notes);
  if (plan.surviving == nullptr) {
    return text + "None of them still meets the objectives when a node is lost halfway.\n";
  }
  text += fmt::format(
      "With a node lost halfway and not replaced: {:.2f} an hour, {}. So "
      "surviving it costs {:.2f} an hour.\n",
      plan.surviving->cost.per_hour, name_of(*plan.surviving),
      plan.surviving->cost.per_hour - plan.cheapest->cost.per_hour);
  return plan.surviving == plan.cheapest ? text : text + notes_text(plan.surviving->notes);
}

ordered_json to_json(const Plan& plan) {
  const auto maybe = [](std::optional<double> value) {
    return value ? ordered_json(*value) : ordered_json();
  };
  ordered_json candidates = ordered_json::array();
  ordered_json cheapest;
  ordered_json surviving;
  for (const Candidate& candidate : plan.candidates) {
    if (&candidate == plan.cheapest) cheapest = candidates.size();
    if (&candidate == plan.surviving) surviving = candidates.size();
    ordered_json setting;
    for (const Parameter& parameter : parameters()) {
      setting[std::string(parameter.name)] = parameter.get(candidate.setting);
    }
    candidates.push_back({{"cost_per_hour", candidate.cost.per_hour},
                          {"hosts", candidate.cost.hosts},
                          {"engines", candidate.setting.engines},
                          {"nodes", candidate.setting.nodes},
                          {"name", name_of(candidate)},
                          {"varied", candidate.name},
                          {"error", candidate.error},
                          {"meets", candidate.meets},
                          {"ttft_p90_s", maybe(candidate.ttft_p90_s)},
                          {"first_objective", maybe(candidate.measured)},
                          {"hit_ratio", maybe(candidate.hit_ratio)},
                          {"saved_gpu_s", candidate.saved_gpu_s},
                          {"spread", candidate.spread.json()},
                          {"overloaded", candidate.overloaded},
                          {"notes", candidate.notes},
                          {"on_ttft_frontier", candidate.ttft_frontier},
                          {"on_saved_frontier", candidate.saved_frontier},
                          {"setting", std::move(setting)}});
  }
  ordered_json slos = ordered_json::array();
  for (const Slo& slo : plan.slos) slos.push_back(slo.text);
  ordered_json price;
  if (plan.surviving != nullptr) {
    price = plan.surviving->cost.per_hour - plan.cheapest->cost.per_hour;
  }
  return {{"format", "larder-plan"},
          {"version", 1},
          {"objectives", std::move(slos)},
          {"candidates", std::move(candidates)},
          {"cheapest", std::move(cheapest)},
          {"cheapest_without_one_node", std::move(surviving)},
          {"price_of_surviving_per_hour", std::move(price)}};
}

Status write_plan(const std::string& directory, const std::string& text) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  LARDER_TRY(auto file,
             workloads::OutputFile::create(std::filesystem::path(directory) / "plan.json"));
  LARDER_CHECK(file.write(text));
  return file.commit();
}

Status plan(PlanArguments& arguments) {
  if (arguments.fleets == 0) {
    return failed(ErrorCode::invalid_params, "--fleets must be at least 1");
  }
  LARDER_CHECK(check_jobs(arguments.jobs));
  Plan plan;
  for (const std::string& text : arguments.slos) {
    LARDER_TRY(Slo slo, parse_slo(text));
    plan.slos.push_back(std::move(slo));
  }
  LARDER_CHECK(load_parts(arguments.setting));
  LARDER_CHECK(set_prices(arguments.setting, arguments.prices));
  LARDER_TRY(plan.candidates, candidates_of(arguments));
  Planner planner(arguments.trace, plan.slos);
  LARDER_CHECK(planner.run_all(plan.candidates, arguments.jobs));
  mark_frontiers(plan.candidates);
  for (const Candidate& candidate : plan.candidates) {
    if (!candidate.meets) continue;
    if (plan.cheapest == nullptr) plan.cheapest = &candidate;
    LARDER_TRY(const bool survives, planner.survives(candidate));
    if (!survives) continue;
    plan.surviving = &candidate;
    break;
  }
  const std::string json = to_json(plan).dump(1) + "\n";
  if (!arguments.out.empty()) LARDER_CHECK(write_plan(arguments.out, json));
  return terminal::print(arguments.json ? json : plan_text(plan));
}

}  // namespace

void add_plan(terminal::Command app, Status& outcome) {
  const terminal::Command command =
      app.add_subcommand("plan", "Finds the cheapest deployment that meets objectives");
  command.footer(
      "Tried are 1, 2 ... of the cluster's hosts (with and without GPUs), or what --vary names. "
      "Costs are those of\nthe hosts in use, by price_per_hour of the hardware file, or --price.\n"
      "Example: larder-sim plan conversation_trace.jsonl --slo 'ttft_p90<2s' --price "
      "8xh800-8x200=25");
  const auto arguments = std::make_shared<PlanArguments>();
  add_trace_arguments(command, arguments->trace);
  const auto add_list = [&](const char* flag, std::vector<std::string>& list, const char* help) {
    return command.add_option(flag, list, help).repeatable();
  };
  add_list("--slo", arguments->slos,
           "An objective, such as 'ttft_p90<2s' or 'hit_ratio>0.4'; all of several must be met")
      .required();
  add_list("--price", arguments->prices, "KIND=AMOUNT: what one such host costs an hour");
  add_list("--vary", arguments->vary,
           "PARAMETER=VALUE,VALUE...: all combinations are tried; with engines, nodes, hosts or "
           "cluster in place of smaller clusters");
  terminal::add_number(command, "--fleets", arguments->fleets,
                       "How many different numbers of hosts of a kind are tried");
  terminal::add_number(command, "--jobs", arguments->jobs, "How many runs at once");
  add_setting_arguments(command, arguments->setting);
  command.add_option("--out", arguments->out, "A directory, for plan.json").not_empty();
  command.add_flag("--json", arguments->json, "Print what plan.json has");
  command.callback([arguments, &outcome] { outcome = plan(*arguments); });
}

}  // namespace larder::sim
