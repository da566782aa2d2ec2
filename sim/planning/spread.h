#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/planning/run.h"

namespace larder::sim {

// Between what the main figures of one setting lie, over several seeds and over the intervals of a
// calibration: each from its least to its most.
class Spread {
 public:
  struct Figure {
    std::string name;             // as in run.json, such as "ttft_p90_s"
    std::optional<double> least;  // nothing where a run had no data
    std::optional<double> most;
  };

  // A run of the same setting with another seed, or other costs.
  void add(const Run& run);
  std::uint64_t runs() const { return runs_; }
  std::uint64_t seeds() const { return seeds_.size(); }
  const std::vector<Figure>& figures() const { return figures_; }
  // Precondition: there is such a figure, and was a run.
  const Figure& figure(std::string_view name) const;
  // As in run.json (docs/planning.md); null without a run.
  nlohmann::ordered_json json() const;

 private:
  std::uint64_t runs_ = 0;
  std::set<std::uint64_t> seeds_;
  std::vector<Figure> figures_;
};

// At the ends of a calibration's intervals, where the setting has costs of one and is not at an end
// itself; else nothing. Together with the setting they are what its figures lie between.
std::vector<Setting> at_the_ends(const Setting& setting);

}  // namespace larder::sim
