#include "sim/report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/base/size_text.h"
#include "terminal/output.h"

namespace larder::sim {
namespace {

using terminal::as_percent;
using terminal::with_thousands;
using workloads::LockstepRecord;

constexpr const char* unknown = "-";

std::string share(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "no data";
  return fmt::format("{} ({})", with_thousands(part),
                     as_percent(static_cast<double>(part) / static_cast<double>(whole)));
}

std::string seconds(double value) {
  return value < 1 ? fmt::format("{:.2f} ms", value * 1e3) : fmt::format("{:.2f} s", value);
}

template <class Value>
ReportRow row(const char* name, std::span<const LockstepRecord> records, Value value) {
  ReportRow row{.name = name};
  for (const LockstepRecord& record : records) row.values.push_back(value(record));
  return row;
}

bool says_nothing(const ReportRow& row) {
  return std::ranges::all_of(row.values, [](const std::string& value) { return value == unknown; });
}

std::string pool_text(const LockstepRecord& record) {
  if (!record.nodes || !record.memory) return unknown;
  return fmt::format("{} {}, {} in all", with_thousands(*record.nodes),
                     *record.nodes == 1 ? "node" : "nodes", size_text(*record.memory));
}

// How much of the time in which the requests came the pool spent on them, one after the other.
std::string load_text(const LockstepRecord& record) {
  const double trace_s = std::chrono::duration<double>(record.totals.trace_time).count();
  if (trace_s <= 0) return unknown;
  const double load = record.virtual_s.value_or(record.wall_s) / trace_s;
  return fmt::format("{}{}", as_percent(load),
                     load > 1 ? ", more than one client in lock step can serve" : "");
}

}  // namespace

std::vector<ReportRow> setting_rows(std::span<const LockstepRecord> records) {
  std::vector<ReportRow> rows{
      row("trace", records, [](const auto& each) { return each.trace; }),
      row("pool", records, pool_text),
      row("eviction", records, [](const auto& each) { return each.policy.value_or(unknown); }),
      row("page", records, [](const auto& each) { return size_text(each.page_bytes); }),
      row("seed", records,
          [](const auto& each) { return each.seed ? std::to_string(*each.seed) : unknown; }),
      row("bytes", records,
          [](const auto& each) { return each.verified ? "compared" : "not simulated"; })};
  std::erase_if(rows, says_nothing);
  return rows;
}

std::vector<ReportRow> result_rows(std::span<const LockstepRecord> records) {
  std::vector<ReportRow> rows{
      row("warm-up", records,
          [](const auto& each) {
            return each.totals.warmup_requests == 0
                       ? unknown
                       : with_thousands(each.totals.warmup_requests) + " requests before";
          }),
      row("requests", records,
          [](const auto& each) { return with_thousands(each.totals.requests); }),
      row("pages", records, [](const auto& each) { return with_thousands(each.totals.pages); }),
      row("page hits", records,
          [](const auto& each) { return share(each.totals.page_hits, each.totals.pages); }),
      row("tokens hit", records,
          [](const auto& each) { return share(each.totals.tokens_hit, each.totals.tokens); }),
      row("puts", records, [](const auto& each) { return with_thousands(each.totals.puts); }),
      row("evictions", records,
          [](const auto& each) { return with_thousands(each.totals.evictions); }),
      row("bytes read", records,
          [](const auto& each) { return size_text(each.totals.bytes_read); }),
      row("bytes written", records,
          [](const auto& each) { return size_text(each.totals.bytes_written); }),
      row("wall time", records, [](const auto& each) { return seconds(each.wall_s); }),
      row("virtual time", records,
          [](const auto& each) { return each.virtual_s ? seconds(*each.virtual_s) : unknown; }),
      row("trace time", records,
          [](const auto& each) {
            return each.totals.trace_time == Duration(0)
                       ? unknown
                       : seconds(std::chrono::duration<double>(each.totals.trace_time).count());
          }),
      row("load", records, load_text),
      row("decision digest", records,
          [](const auto& each) { return fmt::format("{:016x}", each.totals.decision_digest); }),
      row("state hash", records, [](const auto& each) {
        return each.state_hash ? fmt::format("{:016x}", *each.state_hash) : unknown;
      })};
  std::erase_if(rows, says_nothing);
  return rows;
}

std::string to_text(std::span<const ReportRow> rows) {
  std::size_t name_width = 0;
  std::vector<std::size_t> widths;
  for (const ReportRow& row : rows) {
    name_width = std::max(name_width, row.name.size());
    widths.resize(std::max(widths.size(), row.values.size()));
    for (std::size_t i = 0; i < row.values.size(); ++i) {
      widths[i] = std::max(widths[i], row.values[i].size());
    }
  }
  std::string text;
  for (const ReportRow& row : rows) {
    text += fmt::format("  {:<{}}", row.name, name_width);
    for (std::size_t i = 0; i < row.values.size(); ++i) {
      text += fmt::format("   {:>{}}", row.values[i], widths[i]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

}  // namespace larder::sim
