#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/base/error.h"
#include "core/topology/hardware.h"
#include "proto/calibration/calibration.h"
#include "sim/calibration/coordinate_search.h"

namespace larder::sim {

// A number, and between what it lies: of something measured, the middle one of all runs, the least
// and the greatest; of something predicted, what the fit to the middle of the runs says, and the
// least and the greatest that it and the fits to each run alone say (each with a seed of its own).
struct Interval {
  double value = 0;
  double low = 0;
  double high = 0;
};

struct Compared {
  Interval measured;
  Interval predicted;
  // Shares of the measured value: how far the prediction is from it, and from the nearest run; how
  // far the runs are apart.
  double error() const;
  double error_beyond_spread() const;
  double spread() const { return (measured.high - measured.low) / measured.value; }
};

struct ValidatedWorkload {
  Workload workload;
  bool fitted = false;  // it is of the half that the costs were fitted on
  Compared bytes_per_second;
  Compared p50;  // of a call, in nanoseconds
  Compared p99;
};

struct Errors {
  double median = 0;
  double worst = 0;
};

struct Validation {
  CalibratedCosts costs;  // as fitted: intervals as above
  std::vector<ValidatedWorkload> workloads;

  // Of a half: of the throughput of those over each transport or over all.
  struct Which {
    bool fitted = false;
    bool beyond_spread = false;
    std::optional<CalibratedTransport> transport = {};
  };
  // Nothing where there is no such workload.
  std::optional<Errors> errors(const Which& which) const;
};

struct ValidationRules {
  SearchRules fit;
  SearchRules refit{.first_step = 1.1, .last_step = 1.04, .rounds_max = 4};
  double weight_of_measured = 0.01;
  std::uint64_t seed = 1;
};

// Whether that can be simulated. Errors: invalid_params (the host's cores are not told, there is
// more than one kind of host, costs of a transport are missing, a call is larger than 2 GiB, or
// more than 65,536 items are asked for at once).
Status check_calibration(const Hardware& host, const CalibratedCosts& costs,
                         const Measurements& measurements);

// Simulates the workloads with the costs, after fitting these. Of the workloads over each
// transport, as they stand in the file, every second one of each operation is fitted on, of gets
// and mixed ones beginning with the first, of puts with the second; the others are what the result
// is judged by. What the master does is taken as measured; what is
// fitted are the latencies, a client's and a node's time, and those for bytes: such that the sum of
// the squared logarithms of predicted over measured throughput is small, and, with little weight,
// of fitted over measured costs.
//
// Errors: of check_calibration.
Result<Validation> validate(const Hardware& host, const CalibratedCosts& costs,
                            const Measurements& measurements, const ValidationRules& rules,
                            const std::function<void(double)>& progress);

}  // namespace larder::sim
