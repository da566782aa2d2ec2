#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/time.h"
#include "workloads/lockstep/lockstep.h"

// What is kept of a run in lock step: for people, for plots, and for comparing the same trace in a
// real pool and in a simulated one. Both command lines write it, in one shape.

namespace larder::workloads {

// How a run stood after one of its requests: the totals up to there.
struct LockstepPoint {
  std::uint64_t request = 0;  // counted from 1
  std::uint64_t page_hits = 0;
  std::uint64_t pages = 0;
  std::uint64_t puts = 0;
  std::uint64_t evictions = 0;
  std::uint64_t decision_digest = 0;
  double elapsed_s = 0;  // by the client's clock, which is virtual in a simulation

  // Whether the decisions were the same.
  bool agrees_with(const LockstepPoint& other) const;
};

// At most points_max points of a run, evenly spread over its requests, the last one among them.
// Which ones is a function of the number of requests alone, so two runs of one trace have the same.
class LockstepSeries {
 public:
  static constexpr std::size_t points_max = 500;

  // To be called after each request, in order. Those of the warm-up are left out.
  void add(const LockstepTotals& totals, Duration elapsed);
  std::vector<LockstepPoint> points() const;

 private:
  std::uint64_t stride_ = 1;
  std::vector<LockstepPoint> kept_;  // the requests that `stride_` divides
  LockstepPoint last_;
};

inline constexpr std::string_view real_world = "real";
inline constexpr std::string_view simulated_world = "sim";

struct LockstepRecord {
  std::string world;  // one of the two above

  // What was run. A replay of a pool that is somebody else's does not know all of it.
  std::string trace;  // for people
  Bytes page_bytes;
  bool verified = true;  // every byte that was read was compared with what was written
  std::optional<std::uint64_t> nodes;
  std::optional<Bytes> memory;  // of the pool
  std::optional<std::string> policy;
  std::optional<std::uint64_t> seed;

  LockstepTotals totals;
  std::optional<std::uint64_t> state_hash;  // of the simulated world
  std::optional<double> virtual_s;          // what the requests took in its time
  double wall_s = 0;                        // what they took in ours
  std::vector<LockstepPoint> series;        // empty: not kept
};

// One JSON object: {world, trace, page_bytes, verified, nodes, memory_bytes, policy, seed,
// warmup_requests, requests, page_hits, pages, tokens_hit, tokens, puts, evictions, bytes_read,
// bytes_written, decision_digest, trace_s, state_hash, virtual_s, wall_s, series: [{request,
// page_hits, pages, puts, evictions, decision_digest, elapsed_s}]}. Absent: what is not known.
// Digests are 16 hexadecimal digits.
std::string to_json(const LockstepRecord& record);

// Writes DIRECTORY/WORLD.json, whole or not at all, and makes the directory if it is not there.
Status write_record(const std::filesystem::path& directory, const LockstepRecord& record);
// Errors name the file and what is wrong in it.
Result<LockstepRecord> read_record(const std::filesystem::path& file);

}  // namespace larder::workloads
