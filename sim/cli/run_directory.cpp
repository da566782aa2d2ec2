#include "sim/cli/run_directory.h"

#include <utility>

#include "core/base/printable.h"
#include "sim/cli/text_file.h"
#include "sim/planning/run_tables.h"

namespace larder::sim {

using workloads::OutputFile;

Result<RunDirectory> RunDirectory::create(const std::filesystem::path& path, bool misses) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    return failed(ErrorCode::file_write_fail,
                  printable(path.string(), 200) + ": " + error.message());
  }
  LARDER_TRY(OutputFile requests, OutputFile::create(path / "requests.csv"));
  RunDirectory directory(path, std::move(requests));
  directory.status_ = directory.requests_.write(requests_csv_head());
  if (misses) {
    LARDER_TRY(OutputFile file, OutputFile::create(path / "misses.csv"));
    directory.misses_.emplace(std::move(file));
    LARDER_CHECK(directory.misses_->write(misses_csv_head()));
  }
  return directory;
}

void RunDirectory::take(const ServedRequest& request) {
  if (!status_) return;
  row_.clear();
  append_request_row(request.record, row_);
  status_ = requests_.write(row_);
  if (!misses_ || !status_) return;
  row_.clear();
  append_miss_rows(request, row_);
  status_ = misses_->write(row_);
}

Status RunDirectory::write(const char* name, const std::string& text) const {
  LARDER_TRY(OutputFile file, OutputFile::create(path_ / name));
  LARDER_CHECK(file.write(text));
  return file.commit();
}

Status RunDirectory::commit(const Run& run, const TraceName& trace, const Spread& spread) {
  LARDER_CHECK(std::move(status_));
  LARDER_CHECK(requests_.commit());
  std::error_code none;  // of an earlier run
  std::filesystem::remove(path_ / "report.html", none);
  if (misses_) {
    LARDER_CHECK(misses_->commit());
  } else {
    std::filesystem::remove(path_ / "misses.csv", none);
  }
  LARDER_CHECK(write("timeline.csv", csv_text(timeline_table(run))));
  LARDER_CHECK(write("links.csv", links_csv(run)));
  return write("run.json", run_json(run, trace, spread));
}

Result<RunSummary> read_run_of(const std::filesystem::path& directory) {
  std::error_code error;
  const bool inside = std::filesystem::is_directory(directory, error);
  const std::filesystem::path file = inside ? directory / "run.json" : directory;
  LARDER_TRY(const std::string text, read_text_file(file.string()));
  Result<RunSummary> summary = read_run(text);
  if (summary) return summary;
  return failed(summary.error().code(),
                printable(file.string(), 200) + ": " + summary.error().facts().detail);
}

}  // namespace larder::sim
