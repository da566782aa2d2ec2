#pragma once

#include <span>
#include <string>
#include <vector>

#include "workloads/lockstep/record.h"

namespace larder::sim {

// What a run came to, for people; one value for each of the records.
struct ReportRow {
  std::string name;
  std::vector<std::string> values;
};

// What was run: trace, pool, pages, policy, seed. A value that is not known is a dash.
std::vector<ReportRow> setting_rows(std::span<const workloads::LockstepRecord> records);
// What came of it: requests, hits, puts, evictions, bytes, time, digest. Rows that say nothing of
// any of the records are left out.
std::vector<ReportRow> result_rows(std::span<const workloads::LockstepRecord> records);

// Aligned columns, a line for each row.
std::string to_text(std::span<const ReportRow> rows);

}  // namespace larder::sim
