#include "sim/report/run_page.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <vector>

#include "core/base/printable.h"
#include "proto/hardware/hardware_file.h"
#include "proto/hardware/json_object.h"
#include "sim/report/checked_json.h"
#include "sim/report/script_page.h"
#include "sim/report/scripts.h"
#include "terminal/arguments.h"

namespace larder::sim {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::string_view explanation =
    "Times are virtual. A page is a hit if the request found it in the memory of its engine's GPUs "
    "or host, or in the pool, with all pages before it. TTFT is the time from a request's arrival "
    "to its first token. How far these numbers can be trusted, and what is not modelled, is in "
    "docs/simulator.md; what the files have that this page was made of, in docs/planning.md.";

constexpr std::string_view run_file = "run.json";
constexpr std::string_view links_file = "links.csv";

// ---- run.json -----------------------------------------------------------------------------------

// The columns that the page draws, and that all of them are equally long.
Status check_intervals(const json& intervals) {
  constexpr std::array<std::string_view, 23> drawn{"begin_s",
                                                   "end_s",
                                                   "arrived",
                                                   "waiting",
                                                   "ttft_p50_s",
                                                   "ttft_p90_s",
                                                   "ttft_p99_s",
                                                   "pages",
                                                   "gpu_hits",
                                                   "host_hits",
                                                   "pool_hits",
                                                   "prompts_busy_share",
                                                   "decoding_busy_share",
                                                   "pool_capacity_bytes",
                                                   "pool_used_bytes",
                                                   "pool_quarantined_bytes",
                                                   "read_bytes",
                                                   "put_bytes",
                                                   "evicted_bytes",
                                                   "input_tokens",
                                                   "computed_tokens",
                                                   "hit_ratio",
                                                   "master_busy_share"};
  for (const std::string_view name : drawn) {
    if (!intervals.contains(std::string(name))) {
      return bad_file(run_file, fmt::format("/intervals/{}", name), "is missing");
    }
  }
  const std::size_t rows = intervals["end_s"].size();
  for (const auto& [name, column] : intervals.items()) {
    const std::string place = fmt::format("/intervals/{}", printable(name, 60));
    if (!column.is_array()) return bad_file(run_file, place, "wants a list");
    if (column.size() != rows) {
      return bad_file(run_file, place,
                      fmt::format("has {} values, and end_s {}", column.size(), rows));
    }
    for (const json& value : column) {
      if (!is_of(value, Kind::maybe_number))
        return bad_file(run_file, place, "wants numbers or nulls");
    }
  }
  return {};
}

Status check_totals(const json& run) {
  constexpr std::array requests{Wanted{"arrived", Kind::number}, Wanted{"completed", Kind::number}};
  LARDER_CHECK(check_members(run["requests"], {run_file, "/requests"}, requests));
  constexpr std::array pages{
      Wanted{"asked", Kind::number},           Wanted{"hits", Kind::number},
      Wanted{"missed", Kind::number},          Wanted{"gpu_hits", Kind::number},
      Wanted{"host_hits", Kind::number},       Wanted{"pool_hits", Kind::number},
      Wanted{"hit_ratio", Kind::maybe_number}, Wanted{"misses_by_reason", Kind::object}};
  LARDER_CHECK(check_members(run["pages"], {run_file, "/pages"}, pages));
  for (const auto& [name, number] : run["pages"]["misses_by_reason"].items()) {
    if (!number.is_number()) {
      return bad_file(run_file, "/pages/misses_by_reason/" + printable(name, 60), "wants a number");
    }
    if (!run["intervals"].contains("missed_" + name)) {
      return bad_file(run_file, "/intervals/missed_" + printable(name, 60), "is missing");
    }
  }
  constexpr std::array ttft{
      Wanted{"p50_s", Kind::maybe_number}, Wanted{"p90_s", Kind::maybe_number},
      Wanted{"p99_s", Kind::maybe_number}, Wanted{"histogram_from_s_until_s_count", Kind::list}};
  LARDER_CHECK(check_members(run["ttft"], {run_file, "/ttft"}, ttft));
  for (const json& bucket : run["ttft"]["histogram_from_s_until_s_count"]) {
    if (!bucket.is_array() || bucket.size() != 3 || !bucket[0].is_number() ||
        !bucket[1].is_number() || !bucket[2].is_number()) {
      return bad_file(run_file, "/ttft/histogram_from_s_until_s_count", "wants lists of 3 numbers");
    }
  }
  constexpr std::array pressure{Wanted{"load", Kind::maybe_number},
                                Wanted{"waiting_most", Kind::number}};
  LARDER_CHECK(check_members(run["pressure"], {run_file, "/pressure"}, pressure));
  constexpr std::array pool{Wanted{"evicted_bytes", Kind::number},
                            Wanted{"evicted_objects", Kind::number}};
  LARDER_CHECK(check_members(run["pool"], {run_file, "/pool"}, pool));
  constexpr std::array sizes{Wanted{"pool_bytes", Kind::maybe_number}};
  return check_members(run["sizes"], {run_file, "/sizes"}, sizes);
}

// What pools of other sizes would have found. Files of before do not have it.
Status check_curve(const json& curve) {
  if (curve.is_null()) return {};
  constexpr std::array numbers{
      Wanted{"asked", Kind::number},           Wanted{"found", Kind::number},
      Wanted{"lru_found", Kind::number},       Wanted{"belady_found", Kind::maybe_number},
      Wanted{"infinite_found", Kind::number},  Wanted{"pool_pages", Kind::maybe_number},
      Wanted{"page_room_bytes", Kind::number}, Wanted{"different_pages", Kind::number},
      Wanted{"points", Kind::object}};
  LARDER_CHECK(check_members(curve, {run_file, "/pool_curve"}, numbers));
  constexpr std::array columns{Wanted{"pages", Kind::list}, Wanted{"bytes", Kind::list},
                               Wanted{"lru_found", Kind::list}, Wanted{"belady_found", Kind::list}};
  const json& points = curve["points"];
  LARDER_CHECK(check_members(points, {run_file, "/pool_curve/points"}, columns));
  for (const Wanted& column : columns) {
    const std::string place = fmt::format("/pool_curve/points/{}", column.name);
    const json& values = points[std::string(column.name)];
    if (values.size() != points["pages"].size()) {
      return bad_file(
          run_file, place,
          fmt::format("has {} values, and pages {}", values.size(), points["pages"].size()));
    }
    const Kind kind = column.name == "belady_found" ? Kind::maybe_number : Kind::number;
    for (const json& value : values) {
      if (!is_of(value, kind)) return bad_file(run_file, place, "wants numbers");
    }
  }
  return {};
}

Status check_run(const json& run) {
  if (!run.is_object() || run.value("format", json()) != "larder-run") {
    return bad_file(run_file, "/format",
                    "wants \"larder-run\", as larder-sim replay --out writes it");
  }
  if (run.value("version", json()) != 1) {
    return bad_file(run_file, "/version", "this program reads version 1");
  }
  constexpr std::array members{
      Wanted{"trace", Kind::object},       Wanted{"setting", Kind::object},
      Wanted{"sizes", Kind::object},       Wanted{"time_s", Kind::number},
      Wanted{"requests", Kind::object},    Wanted{"pages", Kind::object},
      Wanted{"ttft", Kind::object},        Wanted{"saved_gpu_s", Kind::maybe_object},
      Wanted{"pressure", Kind::object},    Wanted{"pool", Kind::object},
      Wanted{"engines", Kind::list},       Wanted{"nodes", Kind::list},
      Wanted{"busiest_links", Kind::list}, Wanted{"faults", Kind::list},
      Wanted{"notes", Kind::list},         Wanted{"intervals", Kind::object},
      Wanted{"hardware", Kind::object},    Wanted{"model", Kind::object}};
  LARDER_CHECK(check_members(run, {run_file, ""}, members));
  LARDER_CHECK(check_intervals(run["intervals"]));
  LARDER_CHECK(check_totals(run));
  LARDER_CHECK(check_curve(run.value("pool_curve", json())));
  constexpr std::array fault{Wanted{"fault", Kind::text}, Wanted{"begin_s", Kind::number},
                             Wanted{"end_s", Kind::maybe_number}};
  LARDER_CHECK(check_each(run["faults"], {run_file, "/faults"}, fault));
  constexpr std::array link{Wanted{"link", Kind::text}, Wanted{"bytes", Kind::number},
                            Wanted{"bytes_per_s", Kind::number}, Wanted{"share", Kind::number},
                            Wanted{"peak_share", Kind::number}};
  LARDER_CHECK(check_each(run["busiest_links"], {run_file, "/busiest_links"}, link));
  for (const json& note : run["notes"]) {
    if (!note.is_string()) return bad_file(run_file, "/notes", "wants texts");
  }
  constexpr std::array trace{Wanted{"paths", Kind::list}};
  LARDER_CHECK(check_members(run["trace"], {run_file, "/trace"}, trace));
  for (const json& path : run["trace"]["paths"]) {
    if (!path.is_string()) return bad_file(run_file, "/trace/paths", "wants texts");
  }
  constexpr std::array model{Wanted{"name", Kind::text}};
  LARDER_CHECK(check_members(run["model"], {run_file, "/model"}, model));
  const Result<Hardware> hardware = read_hardware(run["hardware"].dump());
  if (!hardware) return bad_file(run_file, "/hardware", hardware.error().facts().detail);
  return {};
}

// ---- links.csv ----------------------------------------------------------------------------------

struct LinkRow {
  double begin_s = 0;
  double end_s = 0;
  std::uint64_t edge = 0;
  std::string_view link;
  std::uint64_t bytes = 0;
  double share = 0;
};

// Up to the separator, which is taken away.
std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view piece = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return piece;
}

// begin_s,end_s,edge,"link",bytes,share
std::optional<LinkRow> read_row(std::string_view line) {
  LinkRow row;
  const bool head = terminal::parse_number(take(line, ','), row.begin_s) &&
                    terminal::parse_number(take(line, ','), row.end_s) &&
                    terminal::parse_number(take(line, ','), row.edge);
  if (!head || !line.starts_with('"')) return std::nullopt;
  line.remove_prefix(1);
  row.link = take(line, '"');
  if (take(line, ',') != "" || !terminal::parse_number(take(line, ','), row.bytes) ||
      !terminal::parse_number(line, row.share) || !std::isfinite(row.begin_s) ||
      !std::isfinite(row.end_s) || !std::isfinite(row.share)) {
    return std::nullopt;
  }
  return row;
}

// {begins_s, ends_s, edges: [{link, bytes, shares}]}: a share for each interval.
Result<ordered_json> links_json(std::string_view text) {
  constexpr std::string_view head = "begin_s,end_s,edge,link,bytes,share";
  struct Edge {
    std::string_view link;
    std::uint64_t bytes = 0;
    std::vector<double> shares;
  };
  std::vector<double> begins;
  std::vector<double> ends;
  std::map<std::uint64_t, Edge> edges;
  if (!text.empty() && take(text, '\n') != head) {
    return bad_file(links_file, "line 1", fmt::format("wants {}", head));
  }
  for (std::uint64_t number = 2; !text.empty(); ++number) {
    const std::optional<LinkRow> row = read_row(take(text, '\n'));
    if (!row)
      return bad_file(links_file, fmt::format("line {}", number), "is no row of such a table");
    if (ends.empty() || row->end_s > ends.back()) {
      begins.push_back(row->begin_s);
      ends.push_back(row->end_s);
    }
    if (row->end_s < ends.back()) {
      return bad_file(links_file, fmt::format("line {}", number), "times go back");
    }
    Edge& edge = edges[row->edge];
    edge.link = row->link;
    edge.bytes += row->bytes;
    edge.shares.resize(ends.size());
    edge.shares.back() = row->share;
  }
  ordered_json list = ordered_json::array();
  for (auto& [number, edge] : edges) {
    edge.shares.resize(ends.size());
    list.push_back({{"link", printable(edge.link, 200)},
                    {"bytes", edge.bytes},
                    {"shares", std::move(edge.shares)}});
  }
  return ordered_json{
      {"begins_s", std::move(begins)}, {"ends_s", std::move(ends)}, {"edges", std::move(list)}};
}

}  // namespace

Result<std::string> run_html(const RunFiles& files) {
  const Result<json> run = parse_json(files.run);
  if (!run) return bad_file(run_file, "the text", run.error().facts().detail);
  LARDER_CHECK(check_run(*run));
  LARDER_TRY(const ordered_json links, links_json(files.links));
  const std::string links_text = links.dump();
  const std::array elements{PageElement{"run", files.run}, PageElement{"links", links_text}};
  const std::string script = std::string(curve_script()) + std::string(run_script());
  return script_page(
      {.title = "A replay", .footer = explanation, .elements = elements, .script = script});
}

}  // namespace larder::sim
