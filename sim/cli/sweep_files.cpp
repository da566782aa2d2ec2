#include "sim/cli/sweep_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/printable.h"
#include "sim/cli/text_file.h"
#include "terminal/arguments.h"
#include "workloads/input_file.h"
#include "workloads/output_file.h"

namespace larder::sim {
namespace {

constexpr std::size_t line_bytes_max = std::size_t{1} << 20;

std::optional<std::string> variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

Result<std::uint64_t> number_in(const char* name, const std::string& text) {
  std::uint64_t number = 0;
  if (terminal::parse_number(text, number)) return number;
  return failed(ErrorCode::invalid_params,
                std::string(name) + " is " + in_quotes(text) + ", which is no number");
}

std::string quoted(const std::string& value) {
  if (value.find_first_of(",\"\n") == std::string::npos) return value;
  std::string text = value;
  std::ranges::replace(text, '"', '\'');
  return "\"" + text + "\"";
}

// Of a line as quoted() and error_cells() make them.
std::size_t cells_in(std::string_view line) {
  std::size_t cells = 1;
  bool inside = false;
  for (const char c : line) {
    if (c == '"') inside = !inside;
    if (c == ',' && !inside) ++cells;
  }
  return cells;
}

}  // namespace

Result<WorkerPlace> worker_place() {
  struct Names {
    const char* number;
    const char* workers;
    const char* first;  // what the numbers begin with
  };
  constexpr std::array<Names, 2> known{
      {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", nullptr},
       {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN"}}};
  for (const Names& names : known) {
    const auto number = variable(names.number);
    const auto workers = variable(names.workers);
    if (!number || !workers) continue;
    WorkerPlace place;
    LARDER_TRY(place.number, number_in(names.number, *number));
    LARDER_TRY(place.workers, number_in(names.workers, *workers));
    std::uint64_t first = 0;
    if (const auto text = names.first == nullptr ? std::nullopt : variable(names.first)) {
      LARDER_TRY(first, number_in(names.first, *text));
    }
    if (place.number < first || place.number - first >= place.workers) {
      return failed(ErrorCode::invalid_params,
                    fmt::format("{} is {} and {} is {}: the numbers of workers must follow each "
                                "other",
                                names.number, *number, names.workers, *workers));
    }
    place.number -= first;
    return place;
  }
  return WorkerPlace{};
}

std::string SweepFiles::head() const {
  std::string text = "run";
  for (const Variation& variation : spec_->vary) text += "," + variation.parameter;
  return text + fmt::format(",seed,{}", fmt::join(result_columns(), ","));
}

// A last line without its end is of a run that was broken off.
Status SweepFiles::read_part(const std::filesystem::path& path, Rows& rows) const {
  LARDER_TRY(workloads::InputFile whole, workloads::InputFile::open(path));
  LARDER_TRY(const std::string text, whole.rest(std::size_t{1} << 32));
  const std::size_t columns = cells_in(head());
  std::string_view rest = text;
  for (bool first = true;; first = false) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return {};
    const std::string_view line = rest.substr(0, std::min(end, line_bytes_max));
    rest.remove_prefix(end + 1);
    if (first) {
      if (line == head()) continue;
      return failed(ErrorCode::bad_file, printable(path.string(), 200) +
                                             ": has other columns, those of another version");
    }
    std::uint64_t run = 0;
    if (!terminal::parse_number(line.substr(0, line.find(',')), run) || run >= spec_->runs() ||
        cells_in(line) != columns) {
      return failed(ErrorCode::bad_file, printable(path.string(), 200) + ": the line " +
                                             in_quotes(line) + " is of no run of the sweep");
    }
    rows.emplace(run, line);
  }
}

Result<SweepFiles::Rows> SweepFiles::read_rows() const {
  Rows rows;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory_, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("part-") && name.ends_with(".csv")) {
      LARDER_CHECK(read_part(entry.path(), rows));
    }
  }
  return rows;
}

Result<SweepFiles> SweepFiles::open(const std::filesystem::path& directory,
                                    const std::string& spec_text, const SweepSpec& spec,
                                    WorkerPlace place, bool again) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    return failed(ErrorCode::file_write_fail,
                  printable(directory.string(), 200) + ": " + error.message());
  }
  SweepFiles files(directory, spec);
  const std::filesystem::path kept = directory / "spec.json";
  const std::string shown = printable(directory.string(), 200);
  if (std::filesystem::exists(kept, error)) {
    LARDER_TRY(const std::string before, read_text_file(kept.string()));
    if (before != spec_text) {
      return failed(ErrorCode::invalid_params,
                    shown + ": holds the sweep of another spec (spec.json): take a new directory");
    }
  } else {
    LARDER_TRY(auto file, workloads::OutputFile::create(kept));
    LARDER_CHECK(file.write(spec_text));
    LARDER_CHECK(file.commit());
  }
  files.part_ = directory / fmt::format("part-{}-of-{}.csv", place.number, place.workers);
  LARDER_TRY(files.rows_, files.read_rows());
  const bool begun = std::filesystem::exists(files.part_, error);
  if (begun && !again) {
    return failed(ErrorCode::invalid_params, shown +
                                                 ": has a sweep that was begun: --resume goes "
                                                 "on with it, or take a new directory");
  }
  if (begun) LARDER_CHECK(files.cut_part());
  return files;
}

// What was broken off is cut away: its line is written anew.
Status SweepFiles::cut_part() const {
  Rows own;
  LARDER_CHECK(read_part(part_, own));
  LARDER_TRY(auto file, workloads::OutputFile::create(part_));
  LARDER_CHECK(file.write(head() + "\n"));
  for (const auto& [run, line] : own) LARDER_CHECK(file.write(line + "\n"));
  return file.commit();
}

Status SweepFiles::append(std::uint64_t run, const std::vector<std::string>& cells) {
  if (!file_.is_open()) {
    std::error_code error;
    const bool begun = std::filesystem::exists(part_, error);
    file_.open(part_, std::ios::binary | std::ios::app);
    if (!begun) file_ << head() << '\n';
  }
  file_ << run;
  for (const std::string& value : spec_->values(run)) file_ << ',' << quoted(value);
  file_ << ',' << spec_->seed(run) << ',' << fmt::format("{}", fmt::join(cells, ",")) << '\n';
  file_.flush();
  if (file_) return {};
  return failed(ErrorCode::file_write_fail, printable(part_.string(), 200));
}

Result<std::uint64_t> SweepFiles::join() const {
  LARDER_TRY(const Rows rows, read_rows());
  if (rows.size() < spec_->runs()) return spec_->runs() - rows.size();
  LARDER_TRY(auto file, workloads::OutputFile::create(whole()));
  LARDER_CHECK(file.write(head() + "\n"));
  for (const auto& [run, line] : rows) LARDER_CHECK(file.write(line + "\n"));
  LARDER_CHECK(file.commit());
  return 0;
}

}  // namespace larder::sim
