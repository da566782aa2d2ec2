#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/base/error.h"
#include "sim/planning/run.h"
#include "sim/planning/run_file.h"
#include "workloads/output_file.h"

namespace larder::sim {

// The files of one run (docs/planning.md): run.json, timeline.csv, links.csv, requests.csv and, if
// asked for, misses.csv. The rows of requests are written while it runs; the files get their names
// when it has ended, so that a run that was broken off leaves what was there before.
class RunDirectory {
 public:
  // Makes the directory if it is not there. Errors name the path.
  static Result<RunDirectory> create(const std::filesystem::path& path, bool misses);

  // Errors are kept for commit().
  void take(const ServedRequest& request);
  Status commit(const Run& run, const TraceName& trace, const Spread& spread);

 private:
  RunDirectory(std::filesystem::path path, workloads::OutputFile requests)
      : path_(std::move(path)), requests_(std::move(requests)) {}
  Status write(const char* name, const std::string& text) const;

  std::filesystem::path path_;
  workloads::OutputFile requests_;
  std::optional<workloads::OutputFile> misses_;
  Status status_;
  std::string row_;
};

// The run.json that a directory has, or a file of that name is.
Result<RunSummary> read_run_of(const std::filesystem::path& directory);

}  // namespace larder::sim
