#include "sim/report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <string_view>

#include "sim/report/plot.h"
#include "sim/report/style.h"
#include "sim/report/table.h"
#include "terminal/output.h"

namespace larder::sim {
namespace {

using workloads::LockstepPoint;
using workloads::LockstepRecord;

constexpr std::string_view explanation =
    "Both runs are in lock step: one request after the other, and the master works on its own only "
    "between them, so that time decides nothing. For each request the pages of its prompt are "
    "read; "
    "those up to the first missing one are hits; what is missing is put. The digest is over all "
    "hits, puts and victims in order. Elapsed time is that of the client: in a simulated pool "
    "virtual, by the model of its machines and network. Wall time is what the run took on this "
    "machine.";

// A line does not break between a number and its unit.
std::string with_units_held(std::string text) {
  for (std::size_t at = 1; at + 1 < text.size(); ++at) {
    const auto is = [&](std::size_t place, auto test) {
      return test(static_cast<unsigned char>(text[place])) != 0;
    };
    if (text[at] != ' ' || !is(at - 1, ::isdigit)) continue;
    if (text[at + 1] == '%' || is(at + 1, ::isalpha)) text.replace(at, 1, "\u00a0");
  }
  return text;
}

std::string cells(const ReportRow& row) {
  const bool digest = row.name == "decision digest" || row.name == "state hash";
  std::string html;
  for (const std::string& value : row.values) {
    html += fmt::format("<td{}>{}</td>", digest ? " class=\"digest\"" : "",
                        escaped(with_units_held(value)));
  }
  return html;
}

// Rows of things that must be the same are marked where they are not.
bool must_be_same(const ReportRow& row) {
  constexpr std::array<std::string_view, 4> may_differ{"wall time", "virtual time", "load",
                                                       "state hash"};
  return std::ranges::find(may_differ, row.name) == may_differ.end();
}

std::string table(const Comparison& comparison, std::span<const ReportRow> rows) {
  const auto [a, b] = comparison.names();
  std::string html = fmt::format(
      R"(<div class="scroll"><table><thead><tr><th></th><th>{}</th><th>{}</th></tr></thead><tbody>)",
      escaped(a), escaped(b));
  for (const ReportRow& row : rows) {
    const bool differs = must_be_same(row) && row.values.at(0) != row.values.at(1) &&
                         row.values.at(0) != "-" && row.values.at(1) != "-";
    html += fmt::format(R"(<tr{}><th>{}</th>{}</tr>)", differs ? R"( class="differs")" : "",
                        escaped(row.name), cells(row));
  }
  return html + "</tbody></table></div>\n";
}

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

template <class Value>
std::vector<PlotPoint> points_of(const LockstepRecord& record, Value value) {
  std::vector<PlotPoint> points;
  for (const LockstepPoint& point : record.series) {
    points.push_back({.x = static_cast<double>(point.request), .y = value(point)});
  }
  return points;
}

constexpr std::uint64_t stretches = 25;

// The hit rate of each stretch of requests, drawn at its end.
std::vector<PlotPoint> stretch_rates(const LockstepRecord& record) {
  const std::uint64_t length = std::max<std::uint64_t>(1, record.totals.requests / stretches);
  std::vector<PlotPoint> points;
  LockstepPoint begin;
  for (const LockstepPoint& point : record.series) {
    if (point.request - begin.request < length) continue;
    points.push_back({.x = static_cast<double>(point.request),
                      .y = percent(point.page_hits - std::min(point.page_hits, begin.page_hits),
                                   point.pages - std::min(point.pages, begin.pages))});
    begin = point;
  }
  return points;
}

template <class Points>
Plot plot_of_both(const Comparison& comparison, std::string title, std::string y_label,
                  Points points) {
  const auto [a, b] = comparison.names();
  return {.title = std::move(title),
          .x_label = "requests served",
          .y_label = std::move(y_label),
          .lines = {{.name = a, .colour = "b", .band = true, .points = points(comparison.first)},
                    {.name = b, .colour = "a", .points = points(comparison.second)}}};
}

Plot puts_and_evictions(const Comparison& comparison) {
  const auto [a, b] = comparison.names();
  const auto puts = [](const LockstepPoint& point) { return static_cast<double>(point.puts); };
  const auto evictions = [](const LockstepPoint& point) {
    return static_cast<double>(point.evictions);
  };
  return {
      .title = "Pages put and evicted",
      .x_label = "requests served",
      .y_label = "pages",
      .lines = {{.name = "put, " + a,
                 .colour = "a",
                 .band = true,
                 .points = points_of(comparison.first, puts)},
                {.name = "put, " + b, .colour = "a", .points = points_of(comparison.second, puts)},
                {.name = "evicted, " + a,
                 .colour = "b",
                 .band = true,
                 .points = points_of(comparison.first, evictions)},
                {.name = "evicted, " + b,
                 .colour = "b",
                 .points = points_of(comparison.second, evictions)}}};
}

std::string figure(const Plot& plot, std::string_view note) {
  return fmt::format("<figure><figcaption>{}<span>{}</span></figcaption>{}</figure>\n",
                     escaped(plot.title), escaped(note), to_svg(plot));
}

std::string figures(const Comparison& comparison) {
  Plot so_far =
      plot_of_both(comparison, "Hit rate so far", "page hits, %", [](const LockstepRecord& record) {
        return points_of(record, [](const LockstepPoint& point) {
          return percent(point.page_hits, point.pages);
        });
      });
  Plot stretch =
      plot_of_both(comparison, "Hit rate of each stretch", "page hits, %", stretch_rates);
  so_far.y_max = stretch.y_max = 100;
  const Plot time =
      plot_of_both(comparison, "Elapsed time", "seconds", [](const LockstepRecord& record) {
        return points_of(record, [](const LockstepPoint& point) { return point.elapsed_s; });
      });
  const std::uint64_t length =
      std::max<std::uint64_t>(1, comparison.first.totals.requests / stretches);
  return figure(so_far, "Leading pages found, of all pages asked for, since the start") +
         figure(stretch,
                fmt::format("The same for every {} requests", terminal::with_thousands(length))) +
         figure(puts_and_evictions(comparison), "Since the start") +
         figure(time, "By the client's clock: real, or virtual in a simulated pool");
}

std::string title_of(const Comparison& comparison) {
  if (comparison.first.world != comparison.second.world) {
    return "One trace, served by a real pool and by a simulated one";
  }
  return comparison.first.world == workloads::real_world
             ? "One trace, served by two real pools"
             : "One trace, served by two simulated pools";
}

}  // namespace

std::string to_html(const Comparison& comparison) {
  const std::array records{comparison.first, comparison.second};
  const std::string title = title_of(comparison);
  std::string html =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  html += fmt::format("<title>{}</title>\n<style>{}</style></head>\n", title, page_style());
  html += fmt::format("<body><main>\n<h1>{}</h1>\n<p class=\"lead\">{} requests of {}</p>\n", title,
                      terminal::with_thousands(comparison.first.totals.requests),
                      escaped(comparison.first.trace));
  html += fmt::format("<p class=\"verdict {}\">{}</p>\n", comparison.agree ? "good" : "bad",
                      escaped(comparison.verdict()));
  html += "<h2>Side by side</h2>\n" + table(comparison, result_rows(records));
  html += "<h2>Over the requests</h2>\n<div class=\"plots\">\n" + figures(comparison) + "</div>\n";
  html += "<h2>What was run</h2>\n" + table(comparison, setting_rows(records));
  html += fmt::format("<footer>{}</footer>\n</main></body></html>\n", explanation);
  return html;
}

}  // namespace larder::sim
