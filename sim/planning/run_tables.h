#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "sim/planning/run.h"

// The tables of a run's files; docs/planning.md says what their columns are. A table is columnar: a
// name and a value for each row.

namespace larder::sim {

// Nothing where there is no data, such as a ratio of nothing.
using Cell = std::variant<std::monostate, std::uint64_t, double>;

struct TableColumn {
  std::string name;
  std::vector<Cell> cells;
};

// timeline.csv, and "intervals" of run.json: a row for each interval.
std::vector<TableColumn> timeline_table(const Run& run);

std::string csv_text(std::span<const TableColumn> columns);

// links.csv as text: a row for each interval and edge that carried something.
std::string links_csv(const Run& run);

// requests.csv and misses.csv, line by line.
std::string requests_csv_head();
void append_request_row(const RequestRecord& record, std::string& text);
std::string misses_csv_head();
// A row for each page that had to be computed.
void append_miss_rows(const ServedRequest& request, std::string& text);

// Seconds since the beginning, to the nanosecond.
double seconds_of(Duration time);
// Empty for instant_never.
void append_seconds(Instant at, std::string& text);

}  // namespace larder::sim
