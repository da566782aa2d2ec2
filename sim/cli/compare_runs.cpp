#include "sim/cli/compare_runs.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/printable.h"
#include "proto/hardware/json_object.h"
#include "sim/cli/text_file.h"
#include "sim/planning/run_file.h"
#include "terminal/output.h"

namespace larder::sim {
namespace {

using nlohmann::ordered_json;

constexpr std::array<std::string_view, 9> compared{
    "requests", "pages", "tokens", "ttft", "saved_gpu_s", "pressure", "pool", "master", "time_s"};

std::filesystem::path file_of(const std::string& path) {
  std::error_code error;
  const std::filesystem::path given(path);
  return std::filesystem::is_directory(given, error) ? given / "run.json" : given;
}

// A number of a run, by its place, such as "pages.hits".
struct Number {
  std::string name;
  std::optional<double> value;
};

void collect(const ordered_json& value, const std::string& name, std::vector<Number>& numbers) {
  if (value.is_object()) {
    for (const auto& [key, of] : value.items()) {
      collect(of, name + (name.empty() ? "" : ".") + key, numbers);
    }
  } else if (value.is_number()) {
    numbers.push_back({.name = name, .value = value.get<double>()});
  } else if (value.is_boolean()) {
    numbers.push_back({.name = name, .value = value.get<bool>() ? 1.0 : 0.0});
  } else if (value.is_null()) {
    numbers.push_back({.name = name, .value = std::nullopt});
  }
}

struct RunNumbers {
  ordered_json setting;
  ordered_json trace;
  std::vector<Number> numbers;
};

Result<RunNumbers> read(const std::string& path) {
  if (!is_run(path)) {
    return failed(ErrorCode::invalid_params,
                  in_quotes(path) + " is no run of larder-sim replay, as the other one is");
  }
  LARDER_TRY(const std::string text, read_text_file(file_of(path).string()));
  if (const auto summary = read_run(text); !summary) {
    return failed(summary.error().code(),
                  printable(file_of(path).string(), 200) + ": " + summary.error().facts().detail);
  }
  const ordered_json value = ordered_json::parse(text);
  RunNumbers run{.setting = value["setting"], .trace = value["trace"], .numbers = {}};
  for (const std::string_view part : compared) {
    const auto found = value.find(std::string(part));
    if (found != value.end()) collect(*found, std::string(part), run.numbers);
  }
  return run;
}

std::string shown(const std::optional<double>& value) {
  return value ? fmt::format("{:.10g}", *value) : "no data";
}

std::string change(const Number& first, const Number& second) {
  if (!first.value || !second.value || *first.value == *second.value) return "";
  if (*first.value == 0) return "new";
  return fmt::format("{:+.2f} %", 100 * (*second.value - *first.value) / *first.value);
}

ordered_json differences(const RunNumbers& first, const RunNumbers& second) {
  ordered_json different;
  for (const auto& [name, value] : first.setting.items()) {
    const ordered_json other = second.setting.value(name, ordered_json());
    if (value != other) different[name] = {value, other};
  }
  if (first.trace != second.trace) different["trace"] = {first.trace, second.trace};
  return different;
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
  const ordered_json different = differences(first, second);
  if (as_json) {
    ordered_json numbers;
    for (std::size_t i = 0; i < std::min(first.numbers.size(), second.numbers.size()); ++i) {
      const auto value = [](const Number& number) {
        return number.value ? ordered_json(*number.value) : ordered_json();
      };
      numbers[first.numbers[i].name] = {value(first.numbers[i]), value(second.numbers[i])};
    }
    const ordered_json object{{"different_settings", different}, {"numbers", std::move(numbers)}};
    return terminal::print(object.dump(2) + "\n");
  }
  std::string text = different.empty() ? "The settings are the same.\n" : "Different settings\n";
  for (const auto& [name, values] : different.items()) {
    text += fmt::format("  {:<22}{:>18}{:>18}\n", name, values[0].dump(), values[1].dump());
  }
  text += fmt::format("\n{:<40}{:>18}{:>18}{:>12}\n", "", "first", "second", "change");
  for (std::size_t i = 0; i < std::min(first.numbers.size(), second.numbers.size()); ++i) {
    const Number& a = first.numbers[i];
    const Number& b = second.numbers[i];
    if (a.value == 0.0 && b.value == 0.0) continue;
    text += fmt::format("{:<40}{:>18}{:>18}{:>12}\n", a.name, shown(a.value), shown(b.value),
                        change(a, b));
  }
  return terminal::print(text);
}

}  // namespace larder::sim
