#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "sim/planning/run.h"
#include "sim/planning/run_file.h"
#include "sim/planning/setting.h"

namespace larder::sim {

// Values that a parameter takes, as text.
struct Variation {
  std::string parameter;
  std::vector<std::string> values;
};

// What a sweep is to run (docs/planning.md): a trace, what is the same in all runs, what varies,
// and seeds. The runs are all combinations, numbered in their order: the seed changes fastest, then
// the last of what varies. A file's parameters vary in the order of their names.
struct SweepSpec {
  TraceName trace;
  std::vector<std::pair<std::string, std::string>> fixed;  // parameter and value
  std::vector<Variation> vary;
  std::vector<std::uint64_t> seeds;

  std::uint64_t runs() const;
  // The values of run number `run`, in the order of `vary`; then its seed.
  std::vector<std::string> values(std::uint64_t run) const;
  std::uint64_t seed(std::uint64_t run) const { return seeds[run % seeds.size()]; }
  // Names only: whoever runs it reads what the cluster and the model are.
  Result<Setting> setting(std::uint64_t run) const;
};

inline constexpr std::uint64_t sweep_runs_max = 10'000'000;

// Errors: bad_file, with the place as a JSON pointer. Each value was tried by itself.
Result<SweepSpec> read_sweep(std::string_view text);

// A list or range as it stands in a spec: values, or {"from", "to", "step" or "factor"} of numbers
// and sizes.
Result<std::vector<std::string>> expand_range(const Variation& from_to, std::string_view step,
                                              std::string_view factor);

// Columns of a sweep's CSV after the run, what varies, and the seed; and their cells.
std::vector<std::string> result_columns();
std::vector<std::string> result_cells(const Run& run);
// Of a run that could not be.
std::vector<std::string> error_cells(const Error& error);

}  // namespace larder::sim
