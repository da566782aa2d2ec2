#include "sim/cli/run_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/size_text.h"
#include "sim/planning/run_tables.h"
#include "terminal/output.h"

namespace larder::sim {
namespace {

using terminal::as_percent;
using terminal::as_time;
using terminal::with_thousands;

struct Row {
  std::string name;
  std::string value;
};
using Rows = std::vector<Row>;

std::optional<double> share(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

std::string counted(std::uint64_t part, std::uint64_t whole) {
  return fmt::format("{} ({})", with_thousands(part), as_percent(share(part, whole)));
}

std::string maybe_time(std::optional<double> seconds) {
  return seconds ? as_time(*seconds) : "no data";
}

void add(Rows& rows, std::string name, std::string value) {
  rows.push_back({.name = std::move(name), .value = std::move(value)});
}

std::string to_text(const Rows& rows) {
  std::string text;
  for (const Row& row : rows) text += fmt::format("  {:<24}{}\n", row.name, row.value);
  return text;
}

Rows deployment(const Run& run) {
  const Setting& setting = run.setting;
  Rows rows;
  add(rows, "engines",
      setting.serving
          ? fmt::format("{} of {} GPUs, {}, {} of host cache each", setting.engines,
                        setting.gpus_per_engine, setting.model, size_text(setting.host_memory))
          : fmt::format("{} without caches ({})", setting.engines, setting.model));
  add(rows, "hosts", fmt::format("{} ({})", run.topology.hosts(), setting.cluster));
  add(rows, "pool",
      fmt::format("{} nodes of {}, {} {}, {}", setting.nodes,
                  setting.memory_per_node ? size_text(*setting.memory_per_node) : "any size",
                  setting.replicas, setting.replicas == 1 ? "replica" : "replicas",
                  setting.policy));
  add(rows, "pages",
      fmt::format("{} tokens, {} in {} {}; the pool holds {}", run.sizes.page_tokens,
                  size_text(run.sizes.page_bytes), run.sizes.objects.size(),
                  run.sizes.objects.size() == 1 ? "object" : "objects",
                  with_thousands(run.sizes.pool_pages)));
  if (setting.calibrated) {
    const CalibratedMachine& machine = setting.calibrated->machine;
    add(rows, "costs",
        fmt::format("{}: {}, {} cores, {}; others used {} of them", setting.calibrated_file,
                    machine.processor, machine.cores, machine.date,
                    as_percent(machine.others_permille / 1e3)));
  }
  for (const PlannedFault& fault : setting.faults) add(rows, "fault", fault_text(fault));
  return rows;
}

void add_requests(Rows& rows, const Run& run) {
  const ServingTotals& totals = run.totals;
  add(rows, "requests", with_thousands(totals.arrived));
  for (std::size_t i = 1; i < outcomes; ++i) {
    if (totals.ended[i] == 0) continue;
    add(rows, "  " + std::string(outcome_name(static_cast<Outcome>(i))),
        counted(totals.ended[i], totals.arrived));
  }
  add(rows, "pages asked for", with_thousands(totals.blocks));
  add(rows, "  hits", counted(totals.hits(), totals.blocks));
  if (run.setting.serving) {
    add(rows, "    on the GPUs", counted(totals.gpu_hits, totals.blocks));
    add(rows, "    on the host", counted(totals.host_hits, totals.blocks));
    add(rows, "    in the pool", counted(totals.pool_hits, totals.blocks));
  }
  for (std::size_t i = 0; i < miss_reasons; ++i) {
    if (totals.misses[i] == 0) continue;
    std::string name(miss_reason_name(static_cast<MissReason>(i)));
    std::ranges::replace(name, '_', ' ');
    add(rows, "  missed: " + name, counted(totals.misses[i], totals.blocks));
  }
}

void add_times(Rows& rows, const Run& run) {
  add(rows, "time to first token",
      fmt::format("p50 {}, p90 {}, p99 {}, mean {}", maybe_time(run.ttft_s(0.5)),
                  maybe_time(run.ttft_s(0.9)), maybe_time(run.ttft_s(0.99)),
                  maybe_time(run.ttft_mean_s())));
  if (run.setting.serving) {
    add(rows, "load of the engines",
        fmt::format("{}; at most {} requests waited{}", as_percent(run.pressure.load),
                    with_thousands(run.pressure.waiting_most),
                    run.pressure.overloaded() ? ": OVERLOADED" : ""));
  }
  if (run.saved) {
    add(rows, "GPU time saved",
        fmt::format("{} by the pool, {} by engines' caches", as_time(seconds_of(run.saved->pool)),
                    as_time(seconds_of(run.saved->gpu + run.saved->host))));
  }
}

// What the pool had of what it was asked for, beside what others would have had.
void add_curve(Rows& rows, const PoolCurve& curve) {
  if (curve.asked == 0) return add(rows, "asked of the pool", "nothing");
  const auto found = [&](std::uint64_t pages) { return as_percent(share(pages, curve.asked)); };
  add(rows, "asked of the pool",
      fmt::format("{} pages; {} were there, {} came in time", with_thousands(curve.asked),
                  found(curve.found), found(curve.fetched)));
  add(rows, "  of the same size",
      fmt::format("LRU has {}{}", found(curve.lru_found),
                  curve.belady_found
                      ? fmt::format(", no policy more than {}", found(*curve.belady_found))
                      : std::string()));
  add(rows, "  without limit", found(curve.infinite_found));
}

void add_pool(Rows& rows, const Run& run) {
  if (run.curve) add_curve(rows, *run.curve);
  add(rows, "pool at the end",
      fmt::format("{} used, {} objects; {} evicted", size_text(run.pool.used),
                  with_thousands(run.pool.objects), with_thousands(run.pool.evicted_objects)));
  add(rows, "bytes of the pool",
      fmt::format("{} read, {} put", size_text(run.pool.bytes_read),
                  size_text(run.pool.bytes_put)));
  add(rows, "master",
      fmt::format(
          "{} busy, {} requests, longest queue {}",
          as_percent(run.time > Duration(0)
                         ? std::optional(seconds_of(run.pool.master_busy) / seconds_of(run.time))
                         : std::nullopt),
          with_thousands(run.pool.master_requests), run.pool.master_queue_longest));
  std::optional<EdgeId> busiest;
  for (std::uint32_t edge = 0; edge < run.links.edges(); ++edge) {
    if (!busiest || run.links.peak({edge}) > run.links.peak(*busiest)) busiest = EdgeId{edge};
  }
  if (busiest) {
    add(rows, "busiest link",
        fmt::format("{}: {} at its peak, {} of the time{}", run.topology.name(*busiest),
                    as_percent(run.links.peak(*busiest)), as_percent(run.links.share(*busiest)),
                    run.links.peak(*busiest) > 1 ? " (a transfer counts when it ends)" : ""));
  }
}

std::string spread_text(const Spread& spread) {
  const bool ends = spread.runs() > spread.seeds();
  std::string text =
      fmt::format("\nOver {} {}{}\n", spread.seeds(), spread.seeds() == 1 ? "seed" : "seeds",
                  ends ? " and the intervals of the calibration" : "");
  for (const Spread::Figure& figure : spread.figures()) {
    if (!figure.least) continue;
    text += fmt::format("  {:<24}{:.6g} to {:.6g}\n", figure.name, *figure.least, *figure.most);
  }
  return text;
}

}  // namespace

std::string run_text(const Run& run, const std::string& trace, const Spread& spread) {
  Rows result;
  add_requests(result, run);
  add_times(result, run);
  add_pool(result, run);
  std::string text =
      fmt::format("{}, {} of virtual time\n{}\n{}", trace, as_time(seconds_of(run.time)),
                  to_text(deployment(run)), to_text(result));
  if (spread.runs() > 1) text += spread_text(spread);
  return text + (run.notes.empty() ? "" : "\n") + notes_text(run.notes);
}

std::string notes_text(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += "! " + note + "\n";
  return text;
}

}  // namespace larder::sim
