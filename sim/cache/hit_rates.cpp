#include "sim/cache/hit_rates.h"

#include <string>
#include <utility>

#include "core/eviction/policy.h"

namespace larder::sim {
namespace {

bool on_the_curve(const std::string& policy, CacheBlocks size) { return policy == "lru" || !size; }

}  // namespace

Result<HitRates> HitRates::make(HitRateQuestion question) {
  if (question.policies.empty() || question.sizes.empty())
    return failed(ErrorCode::invalid_params, "at least one policy and one size are needed");
  HitRates result(std::move(question));
  for (const std::string& policy : result.question_.policies) {
    if (policy == belady) {
      result.belady_.emplace();
      continue;
    }
    if (const Status known = check_policy(policy); !known) {
      return failed(known.error().code(),
                    known.error().facts().detail + "; and " + std::string(belady) + ", the bound");
    }
    for (const CacheBlocks& size : result.question_.sizes) {
      LARDER_TRY(CacheRun run, CacheRun::make(policy, size));
      if (!on_the_curve(policy, size)) result.runs_.push_back(std::move(run));
    }
  }
  return result;
}

void HitRates::request(std::span<const workloads::BlockId> blocks) {
  if (requests_++ == question_.warmup_requests) {
    curve_.forget_counts();
    if (belady_) belady_->forget_counts();
    for (CacheRun& run : runs_) run.forget_counts();
  }
  const std::span<const BlockNumber> numbers = numbers_.of(blocks);
  curve_.request(numbers);
  if (belady_) belady_->request(numbers);
  for (CacheRun& run : runs_) run.request(numbers);
}

std::vector<CachePoint> HitRates::points() const {
  std::vector<CachePoint> points;
  auto run = runs_.begin();
  for (const std::string& policy : question_.policies) {
    for (const CacheBlocks& size : question_.sizes) {
      if (on_the_curve(policy, size)) {
        points.push_back(curve_.at(size));
      } else if (policy == belady) {
        points.push_back(belady_->at(size));
      } else {
        points.push_back((run++)->point());
      }
      points.back().policy = policy;
    }
  }
  return points;
}

Result<std::vector<CachePoint>> hit_rates(workloads::TraceReader& trace, HitRateQuestion question) {
  const std::uint64_t warmup = question.warmup_requests;
  LARDER_TRY(HitRates rates, HitRates::make(std::move(question)));
  std::uint64_t requests = 0;
  while (true) {
    LARDER_TRY(const workloads::Request* const request, trace.next());
    if (request == nullptr) break;
    rates.request(request->blocks);
    ++requests;
  }
  if (warmup > 0 && warmup >= requests) {
    return failed(ErrorCode::invalid_params, workloads::all_is_warmup(warmup, requests));
  }
  return rates.points();
}

}  // namespace larder::sim
