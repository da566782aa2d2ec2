#include "sim/planning/run_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/base/printable.h"
#include "sim/planning/run_file.h"

namespace larder::sim {
namespace {

using nlohmann::ordered_json;
using Number = RunNumbers::Number;

constexpr std::array<std::string_view, 10> compared{
    "requests", "pages", "tokens",     "ttft",   "saved_gpu_s",
    "pressure", "pool",  "pool_curve", "master", "time_s"};
constexpr std::size_t depth_max = 4;
constexpr std::size_t numbers_max = 1'000;
constexpr std::size_t shown_bytes_max = 60;

void collect(const ordered_json& value, const std::string& name, std::vector<Number>& numbers,
             std::size_t depth = 0) {
  if (numbers.size() >= numbers_max) return;
  if (value.is_object() && depth < depth_max) {
    for (const auto& [key, of] : value.items()) {
      collect(of, name + "." + printable(key, shown_bytes_max), numbers, depth + 1);
    }
  } else if (value.is_number()) {
    numbers.push_back({.name = name, .value = value.get<double>()});
  } else if (value.is_boolean()) {
    numbers.push_back({.name = name, .value = value.get<bool>() ? 1.0 : 0.0});
  } else if (value.is_null()) {
    numbers.push_back({.name = name, .value = std::nullopt});
  }
}

struct Pair {
  std::string name;
  std::optional<double> first;
  std::optional<double> second;
};

// In the order of the first run; what only the second one has comes where its neighbour is.
std::vector<Pair> side_by_side(const RunNumbers& first, const RunNumbers& second) {
  std::vector<Pair> pairs;
  for (const Number& number : first.numbers) {
    pairs.push_back({.name = number.name, .first = number.value, .second = {}});
  }
  auto at = pairs.begin();
  for (const Number& number : second.numbers) {
    const auto known = std::ranges::find(pairs, number.name, &Pair::name);
    at = known == pairs.end() ? pairs.insert(at, {.name = number.name, .first = {}, .second = {}})
                              : known;
    at->second = number.value;
    ++at;
  }
  // "saved_gpu_s: no data" beside its members, which the other run has.
  std::erase_if(pairs, [&](const Pair& pair) {
    return !pair.first && !pair.second && std::ranges::any_of(pairs, [&](const Pair& other) {
      return other.name.starts_with(pair.name + ".");
    });
  });
  return pairs;
}

std::string shown(const std::optional<double>& value) {
  return value ? fmt::format("{:.10g}", *value) : "no data";
}

std::string shown(const ordered_json& parameter) {
  const std::string text = parameter.is_string() ? parameter.get<std::string>() : parameter.dump();
  return text.empty() || parameter.is_null() ? "-" : printable(text, 200);
}

std::string change(const Pair& pair) {
  if (!pair.first || !pair.second || *pair.first == *pair.second) return "";
  if (*pair.first == 0) return "new";
  return fmt::format("{:+.2f} %", 100 * (*pair.second - *pair.first) / *pair.first);
}

ordered_json differences(const RunNumbers& first, const RunNumbers& second) {
  ordered_json different = ordered_json::object();
  for (const auto& [name, value] : first.setting.items()) {
    const ordered_json other = second.setting.value(name, ordered_json());
    if (value != other) different[name] = {value, other};
  }
  if (first.trace != second.trace) different["trace"] = {first.trace, second.trace};
  return different;
}

}  // namespace

Result<RunNumbers> read_run_numbers(std::string_view text) {
  LARDER_TRY(const RunSummary summary, read_run(text));
  (void)summary;  // that it is a run
  const ordered_json value = ordered_json::parse(text);
  RunNumbers run{.setting = value["setting"], .trace = value["trace"], .numbers = {}};
  for (const std::string_view part : compared) {
    const auto found = value.find(std::string(part));
    if (found != value.end()) collect(*found, std::string(part), run.numbers);
  }
  return run;
}

std::string comparison_text(const RunNumbers& first, const RunNumbers& second) {
  const ordered_json different = differences(first, second);
  std::string text = different.empty() ? "The settings are the same.\n" : "Different settings\n";
  for (const auto& [name, values] : different.items()) {
    text += fmt::format("  {:<22}  {:>16}  {:>16}\n", name, shown(values[0]), shown(values[1]));
  }
  text += fmt::format("\n{:<40}{:>18}{:>18}{:>12}\n", "", "first", "second", "change");
  for (const Pair& pair : side_by_side(first, second)) {
    if (pair.first == 0.0 && pair.second == 0.0) continue;
    text += fmt::format("{:<40}{:>18}{:>18}{:>12}\n", pair.name, shown(pair.first),
                        shown(pair.second), change(pair));
  }
  return text;
}

ordered_json comparison_json(const RunNumbers& first, const RunNumbers& second) {
  const auto value = [](const std::optional<double>& number) {
    return number ? ordered_json(*number) : ordered_json();
  };
  ordered_json numbers = ordered_json::object();
  for (const Pair& pair : side_by_side(first, second)) {
    numbers[pair.name] = {value(pair.first), value(pair.second)};
  }
  return {{"different_settings", differences(first, second)}, {"numbers", std::move(numbers)}};
}

}  // namespace larder::sim
