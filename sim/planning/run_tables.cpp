#include "sim/planning/run_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

#pragma STDC FP_CONTRACT OFF

namespace larder::sim {
namespace {

Cell ratio(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return {};
  return static_cast<double>(part) / static_cast<double>(whole);
}

Cell quantile(const Histogram& times, double share) {
  if (times.count() == 0) return {};
  return seconds_of(times.quantile(share));
}

constexpr std::uint64_t minus(std::uint64_t a, std::uint64_t b) { return a - b; }

// Fills a table row by row: the first row makes the columns.
class TableWriter {
 public:
  void begin_row() { column_ = 0; }
  void add(std::string_view name, Cell cell) {
    if (column_ == columns_.size()) columns_.push_back({.name = std::string(name), .cells = {}});
    columns_[column_++].cells.push_back(cell);
  }
  void add(std::string_view name, Bytes bytes) { add(name, Cell(bytes.value)); }
  std::vector<TableColumn> take() { return std::move(columns_); }

 private:
  std::vector<TableColumn> columns_;
  std::size_t column_ = 0;
};

void add_requests(TableWriter& table, const Interval& interval) {
  table.add("arrived", interval.arrived);
  for (std::size_t i = 0; i < outcomes; ++i) {
    std::string name(outcome_name(static_cast<Outcome>(i)));
    std::ranges::replace(name, '-', '_');
    table.add(name, interval.ended[i]);
  }
  table.add("waiting", interval.waiting);
  table.add("ttft_count", interval.ttft.count());
  table.add("ttft_p50_s", quantile(interval.ttft, 0.5));
  table.add("ttft_p90_s", quantile(interval.ttft, 0.9));
  table.add("ttft_p99_s", quantile(interval.ttft, 0.99));
}

void add_blocks(TableWriter& table, const Interval& interval) {
  table.add("pages", interval.blocks);
  table.add("gpu_hits", interval.gpu_hits);
  table.add("host_hits", interval.host_hits);
  table.add("pool_hits", interval.pool_hits);
  table.add("hit_ratio", ratio(interval.hits(), interval.blocks));
  for (std::size_t i = 0; i < miss_reasons; ++i) {
    table.add("missed_" + std::string(miss_reason_name(static_cast<MissReason>(i))),
              interval.misses[i]);
  }
  table.add("input_tokens", interval.input_tokens);
  table.add("computed_tokens", interval.computed_tokens);
}

void add_pool(TableWriter& table, const PoolGauges& before, const PoolGauges& pool) {
  table.add("pool_capacity_bytes", pool.capacity);
  table.add("pool_used_bytes", pool.used);
  table.add("pool_quarantined_bytes", pool.quarantined);
  table.add("pool_largest_free_bytes", pool.largest_free);
  table.add("pool_objects", pool.objects);
  table.add("pool_waiting_puts", pool.waiting_puts);
  table.add("nodes_reachable", pool.reachable_nodes);
  table.add("evicted_objects", minus(pool.evicted_objects, before.evicted_objects));
  table.add("evicted_bytes", pool.evicted_bytes - before.evicted_bytes);
  table.add("pages_read", minus(pool.reads.came, before.reads.came));
  table.add("pages_put", minus(pool.puts.stored, before.puts.stored));
  table.add("pages_refused", minus(pool.puts.refused + pool.puts.fragmented,
                                   before.puts.refused + before.puts.fragmented));
  table.add("read_bytes", pool.bytes_read - before.bytes_read);
  table.add("put_bytes", pool.bytes_put - before.bytes_put);
  table.add("master_alive", std::uint64_t{pool.master_alive ? 1u : 0u});
  table.add("master_queue", pool.master_queue);
  table.add("master_requests", minus(pool.master_requests, before.master_requests));
  table.add("master_busy_share", PoolGauges::master_utilization(before, pool));
}

}  // namespace

double seconds_of(Duration time) { return static_cast<double>(time.count()) / 1e9; }

void append_seconds(Instant at, std::string& text) {
  if (at == instant_never) return;
  const auto ns = static_cast<std::uint64_t>((at - Instant{}).count());
  fmt::format_to(std::back_inserter(text), "{}.{:09}", ns / 1'000'000'000, ns % 1'000'000'000);
}

std::vector<TableColumn> timeline_table(const Run& run) {
  TableWriter table;
  Interval before;
  const auto engines = static_cast<double>(run.engines.size());
  for (const Interval& interval : run.intervals) {
    table.begin_row();
    table.add("begin_s", seconds_of(before.end - Instant{}));
    table.add("end_s", seconds_of(interval.end - Instant{}));
    add_requests(table, interval);
    add_blocks(table, interval);
    const double time = seconds_of(interval.end - before.end);
    const auto busy = [&](Duration from, Duration until) -> Cell {
      if (time <= 0) return {};
      return seconds_of(until - from) / (time * engines);
    };
    table.add("prompts_busy_share", busy(before.busy.prompts, interval.busy.prompts));
    table.add("decoding_busy_share", busy(before.busy.decoding, interval.busy.decoding));
    add_pool(table, before.pool, interval.pool);
    before = interval;
  }
  return table.take();
}

std::string csv_text(std::span<const TableColumn> columns) {
  std::string text;
  for (const TableColumn& column : columns) text += (text.empty() ? "" : ",") + column.name;
  text += '\n';
  const std::size_t rows = columns.empty() ? 0 : columns.front().cells.size();
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (i > 0) text += ',';
      const Cell& cell = columns[i].cells[row];
      if (const auto* whole = std::get_if<std::uint64_t>(&cell)) text += fmt::format("{}", *whole);
      if (const auto* real = std::get_if<double>(&cell)) text += fmt::format("{}", *real);
    }
    text += '\n';
  }
  return text;
}

std::string links_csv(const Run& run) {
  std::string text = "begin_s,end_s,edge,link,bytes,share\n";
  for (std::size_t interval = 0; interval < run.links.intervals(); ++interval) {
    for (std::uint32_t edge = 0; edge < run.links.edges(); ++edge) {
      const Bytes moved = run.links.moved(interval, {edge});
      if (moved == Bytes{}) continue;
      append_seconds(run.links.begin(interval), text);
      text += ',';
      append_seconds(run.links.end(interval), text);
      fmt::format_to(std::back_inserter(text), ",{},\"{}\",{},{:.6f}\n", edge,
                     run.topology.name(EdgeId{edge}), moved.value,
                     run.links.share(interval, {edge}));
    }
  }
  return text;
}

std::string requests_csv_head() {
  std::string text =
      "request,session,agent,engine,outcome,arrival_s,prefetch_end_s,prefill_begin_s,"
      "first_token_s,end_s,input_tokens,output_tokens,computed_tokens,pages,gpu_hits,host_hits,"
      "pool_hits";
  for (std::size_t i = 0; i < miss_reasons; ++i) {
    text += ",missed_" + std::string(miss_reason_name(static_cast<MissReason>(i)));
  }
  return text + "\n";
}

void append_request_row(const RequestRecord& record, std::string& text) {
  const auto out = std::back_inserter(text);
  if (record.speaker) {
    fmt::format_to(out, "{},{},{}", record.number, record.speaker->session, record.speaker->agent);
  } else {
    fmt::format_to(out, "{},,", record.number);
  }
  fmt::format_to(out, ",{},{}", record.engine, outcome_name(record.outcome));
  for (const Instant at : {record.arrival, record.prefetch_end, record.prefill_begin,
                           record.first_token, record.end}) {
    text += ',';
    append_seconds(at, text);
  }
  fmt::format_to(out, ",{},{},{},{},{},{},{}", record.input_tokens, record.output_tokens,
                 record.computed_tokens, record.blocks, record.gpu_hits, record.host_hits,
                 record.pool_hits);
  for (const std::uint32_t missed : record.misses) fmt::format_to(out, ",{}", missed);
  text += '\n';
}

std::string misses_csv_head() { return "request,at_s,page,page_id,reason\n"; }

void append_miss_rows(const ServedRequest& request, std::string& text) {
  const RequestRecord& record = request.record;
  if (record.prefill_begin == instant_never) return;
  for (std::size_t page = record.hits(); page < request.blocks.size(); ++page) {
    fmt::format_to(std::back_inserter(text), "{},", record.number);
    append_seconds(record.prefill_begin, text);
    fmt::format_to(std::back_inserter(text), ",{},{},{}\n", page, request.blocks[page],
                   miss_reason_name(request.missing[page]));
  }
}

}  // namespace larder::sim
