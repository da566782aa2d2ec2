#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "sim/cache/belady.h"
#include "sim/cache/block_numbers.h"
#include "sim/cache/cache_point.h"
#include "sim/cache/cache_run.h"
#include "sim/cache/lru_curve.h"
#include "workloads/request.h"
#include "workloads/trace.h"

namespace larder::sim {

struct HitRateQuestion {
  std::vector<std::string> policies;  // names that core/eviction/policy.h knows, or the bound
  std::vector<CacheBlocks> sizes;
  std::uint64_t warmup_requests = 0;  // fill the caches and are not counted
};

// The name of the bound beside the policies: see Belady.
inline constexpr std::string_view belady = "belady";

// Many caches fed with one trace, in one pass. "lru" in all sizes comes from the one-pass curve, as
// does a cache without limit under any policy, since there nothing ever leaves. "belady" keeps the
// whole trace.
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
  std::uint64_t requests_ = 0;
  BlockNumbers numbers_;
  LruCurve curve_;
  std::optional<Belady> belady_;  // where it is asked for
  std::vector<CacheRun> runs_;    // in the order of points(), without those that the curve answers
};

// Reads the trace to its end. Its errors, or those of HitRates::make; invalid_params where the
// warm-up leaves no request to count.
Result<std::vector<CachePoint>> hit_rates(workloads::TraceReader& trace, HitRateQuestion question);

}  // namespace larder::sim
