#include "sim/cli/compare_runs.h"

#include <fmt/format.h>

#include <algorithm>
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

constexpr std::array<std::string_view, 10> compared{
    "requests", "pages", "tokens",     "ttft",   "saved_gpu_s",
    "pressure", "pool",  "pool_curve", "master", "time_s"};

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
                  in_quotes(path) +
                      " has no run.json, as the other one has: larder-sim replay --out writes it");
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

std::string shown(const ordered_json& parameter) {
  if (!parameter.is_string()) return parameter.is_null() ? "-" : parameter.dump();
  const std::string text = parameter.get<std::string>();
  return text.empty() ? "-" : printable(text, 200);
}

// A number of both, or of one: the other may be of another version, or have no curve.
struct Pair {
  std::string name;
  std::optional<double> first;
  std::optional<double> second;
};

// In the order of the first run; then what only the second one has.
std::vector<Pair> pairs(const RunNumbers& first, const RunNumbers& second) {
  const auto find = [](const RunNumbers& run, const std::string& name) {
    return std::ranges::find(run.numbers, name, &Number::name);
  };
  std::vector<Pair> all;
  for (const Number& number : first.numbers) {
    const auto other = find(second, number.name);
    all.push_back({.name = number.name,
                   .first = number.value,
                   .second = other == second.numbers.end() ? std::nullopt : other->value});
  }
  for (const Number& number : second.numbers) {
    if (find(first, number.name) != first.numbers.end()) continue;
    all.push_back({.name = number.name, .first = std::nullopt, .second = number.value});
  }
  return all;
}

std::string change(const Pair& pair) {
  if (!pair.first || !pair.second || *pair.first == *pair.second) return "";
  if (*pair.first == 0) return "new";
  return fmt::format("{:+.2f} %", 100 * (*pair.second - *pair.first) / *pair.first);
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
    const auto value = [](std::optional<double> number) {
      return number ? ordered_json(*number) : ordered_json();
    };
    for (const Pair& pair : pairs(first, second)) {
      numbers[pair.name] = {value(pair.first), value(pair.second)};
    }
    const ordered_json object{{"different_settings", different}, {"numbers", std::move(numbers)}};
    return terminal::print(object.dump(2) + "\n");
  }
  std::string text = different.empty() ? "The settings are the same.\n" : "Different settings\n";
  for (const auto& [name, values] : different.items()) {
    text += fmt::format("  {:<22}  {:>16}  {:>16}\n", name, shown(values[0]), shown(values[1]));
  }
  text += fmt::format("\n{:<40}{:>18}{:>18}{:>12}\n", "", "first", "second", "change");
  for (const Pair& pair : pairs(first, second)) {
    if (pair.first == 0.0 && pair.second == 0.0) continue;
    text += fmt::format("{:<40}{:>18}{:>18}{:>12}\n", pair.name, shown(pair.first),
                        shown(pair.second), change(pair));
  }
  return terminal::print(text);
}

}  // namespace larder::sim
