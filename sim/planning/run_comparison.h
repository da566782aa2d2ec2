#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace larder::sim {

// What one run.json has to be held against another one.
struct RunNumbers {
  // By its place, such as "pages.hits". Nothing: no data.
  struct Number {
    std::string name;
    std::optional<double> value;
  };
  nlohmann::ordered_json setting;
  nlohmann::ordered_json trace;
  std::vector<Number> numbers;  // at most 1,000; a run of ours has about a hundred
};
// Errors: of read_run.
Result<RunNumbers> read_run_numbers(std::string_view text);

// Which parameters differ, and the numbers side by side, by their names: one that only one of the
// runs has stands beside "no data".
std::string comparison_text(const RunNumbers& first, const RunNumbers& second);
nlohmann::ordered_json comparison_json(const RunNumbers& first, const RunNumbers& second);

}  // namespace larder::sim
