#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sim/capacity/capacity_pool.h"
#include "sim/kernel/event.h"

namespace larder::sim {

// The pool's gauges over virtual time, from the instant at which it is made, one sample each
// interval. However long the run, there are at most `samples_max` of them: when they are full,
// every second one is dropped and the interval doubles. So the sums in them still differ by what
// happened between two.
class GaugeSeries final : private Event {
 public:
  // The pool outlives it. Preconditions: interval > 0, samples_max >= 2.
  GaugeSeries(Kernel& kernel, const CapacityPool& pool, Duration interval,
              std::size_t samples_max = 4'096);

  // In the order of time, the first one at the beginning.
  std::span<const PoolGauges> samples() const { return samples_; }
  Duration interval() const { return interval_; }

 private:
  void fire() override;

  Kernel& kernel_;
  const CapacityPool& pool_;
  Duration interval_;
  const std::size_t samples_max_;
  std::vector<PoolGauges> samples_;
};

}  // namespace larder::sim
