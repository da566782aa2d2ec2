#include "sim/capacity/pool_counts.h"

#include <numeric>

namespace larder::sim {

std::uint64_t PageCounts::misses() const {
  return std::accumulate(missed.begin(), missed.end(), std::uint64_t{0});
}

double PoolGauges::master_utilization(const PoolGauges& from, const PoolGauges& until) {
  const auto time = static_cast<double>((until.at - from.at).count());
  if (time <= 0) return 0;
  return static_cast<double>((until.master_busy - from.master_busy).count()) / time;
}

}  // namespace larder::sim
