#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "sim/planning/sweep_spec.h"

namespace larder::sim {

// Which of several processes that share a sweep this one is: as mpirun (Open MPI) or Slurm's arrays
// say in the environment; alone without them. Worker k of n does the runs k, k + n, k + 2n ...
struct WorkerPlace {
  std::uint64_t number = 0;
  std::uint64_t workers = 1;
};
Result<WorkerPlace> worker_place();

// The files of a sweep in its directory. Each worker appends the rows of its runs to a part of its
// own, part-K-of-N.csv, line by line, so that an interruption costs the runs under way. sweep.csv
// is all of them in the order of the runs, and appears when all are there. spec.json is what was
// asked for.
class SweepFiles {
 public:
  // Makes the directory, or goes on with one. INVALID_PARAMS: it has rows and this is not `again`,
  // or those of another spec.
  static Result<SweepFiles> open(const std::filesystem::path& directory,
                                 const std::string& spec_text, const SweepSpec& spec,
                                 WorkerPlace place, bool again);

  // Whether its row was there when the files were opened.
  bool has(std::uint64_t run) const { return rows_.contains(run); }
  Status append(std::uint64_t run, const std::vector<std::string>& cells);
  // Writes sweep.csv if all rows are there by now, from whichever worker; how many are not.
  Result<std::uint64_t> join() const;
  std::filesystem::path whole() const { return directory_ / "sweep.csv"; }

 private:
  using Rows = std::map<std::uint64_t, std::string>;
  SweepFiles(std::filesystem::path directory, const SweepSpec& spec)
      : directory_(std::move(directory)), spec_(&spec) {}
  std::string head() const;
  Result<Rows> read_rows() const;
  Status read_part(const std::filesystem::path& path, Rows& rows) const;
  Status cut_part() const;

  std::filesystem::path directory_;
  const SweepSpec* spec_;
  Rows rows_;
  std::filesystem::path part_;
  std::ofstream file_;
};

}  // namespace larder::sim
