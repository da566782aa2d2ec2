#include "sim/cli/compare_runs.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/base/printable.h"
#include "sim/cli/text_file.h"
#include "sim/planning/run_comparison.h"
#include "terminal/output.h"

namespace larder::sim {
namespace {

std::filesystem::path file_of(const std::string& path) {
  std::error_code error;
  const std::filesystem::path given(path);
  return std::filesystem::is_directory(given, error) ? given / "run.json" : given;
}

Result<RunNumbers> read(const std::string& path) {
  if (!is_run(path)) {
    return failed(ErrorCode::invalid_params,
                  in_quotes(path) +
                      " has no run.json, as the other one has: larder-sim replay --out writes it");
  }
  LARDER_TRY(const std::string text, read_text_file(file_of(path).string()));
  Result<RunNumbers> numbers = read_run_numbers(text);
  if (numbers) return numbers;
  return failed(numbers.error().code(),
                printable(file_of(path).string(), 200) + ": " + numbers.error().facts().detail);
}

}  // namespace

bool is_run(const std::string& path) {
  std::error_code error;
  const std::filesystem::path file = file_of(path);
  return file.filename() == "run.json" && std::filesystem::exists(file, error);
}

Status compare_runs(const std::string& first_path, const std::string& second_path, bool as_json) {
  LARDER_TRY(const RunNumbers first, read(first_path));
  LARDER_TRY(const RunNumbers second, read(second_path));
  return terminal::print(as_json ? comparison_json(first, second).dump(2) + "\n"
                                 : comparison_text(first, second));
}

}  // namespace larder::sim
