#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/planning/run.h"

namespace larder::sim {

// What the main figures of one setting are over several seeds: each from its least to its most.
class Spread {
 public:
  struct Figure {
    std::string name;             // as in run.json, such as "ttft_p90_s"
    std::optional<double> least;  // nothing where a run had no data
    std::optional<double> most;
  };

  // A run of the same setting with another seed.
  void add(const Run& run);
  std::uint64_t seeds() const { return seeds_; }
  const std::vector<Figure>& figures() const { return figures_; }

 private:
  std::uint64_t seeds_ = 0;
  std::vector<Figure> figures_;
};

}  // namespace larder::sim
