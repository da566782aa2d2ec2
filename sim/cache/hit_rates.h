#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "sim/cache/block_numbers.h"
#include "sim/cache/cache_point.h"
#include "sim/cache/cache_run.h"
#include "sim/cache/lru_curve.h"
#include "workloads/request.h"
#include "workloads/trace.h"

namespace larder::sim {

struct HitRateQuestion {
  std::vector<std::string> policies;  // names that core/eviction/policy.h knows
  std::vector<CacheBlocks> sizes;
};

// Many caches fed with one trace, in one pass. "lru" in all sizes comes from the one-pass curve, as
// does a cache without limit under any policy, since there nothing ever leaves.
class HitRates {
 public:
  // INVALID_PARAMS for an unknown policy, or where there is no policy or no size.
  static Result<HitRates> make(HitRateQuestion question);

  void request(std::span<const workloads::BlockId> blocks);
  // For each policy, in the order asked, each size, in the order asked.
  std::vector<CachePoint> points() const;

 private:
  explicit HitRates(HitRateQuestion question) : question_(std::move(question)) {}

  HitRateQuestion question_;
  BlockNumbers numbers_;
  LruCurve curve_;
  std::vector<CacheRun> runs_;  // in the order of points(), without those that the curve answers
};

// Reads the trace to its end. Its errors, or those of HitRates::make.
Result<std::vector<CachePoint>> hit_rates(workloads::TraceReader& trace, HitRateQuestion question);

}  // namespace larder::sim
