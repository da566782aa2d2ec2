#include "sim/cache/hit_rates.h"

#include <utility>

namespace larder::sim {
namespace {

bool on_the_curve(const std::string& policy, CacheBlocks size) { return policy == "lru" || !size; }

}  // namespace

Result<HitRates> HitRates::make(HitRateQuestion question) {
  if (question.policies.empty() || question.sizes.empty())
    return failed(ErrorCode::invalid_params, "at least one policy and one size are needed");
  HitRates result(std::move(question));
  for (const std::string& policy : result.question_.policies) {
    for (const CacheBlocks& size : result.question_.sizes) {
      LARDER_TRY(CacheRun run, CacheRun::make(policy, size));
      if (!on_the_curve(policy, size)) result.runs_.push_back(std::move(run));
    }
  }
  return result;
}

void HitRates::request(std::span<const workloads::BlockId> blocks) {
  const std::span<const BlockNumber> numbers = numbers_.of(blocks);
  curve_.request(numbers);
  for (CacheRun& run : runs_) run.request(numbers);
}

std::vector<CachePoint> HitRates::points() const {
  std::vector<CachePoint> points;
  auto run = runs_.begin();
  for (const std::string& policy : question_.policies) {
    for (const CacheBlocks& size : question_.sizes) {
      points.push_back(on_the_curve(policy, size) ? curve_.at(size) : (run++)->point());
      points.back().policy = policy;
    }
  }
  return points;
}

Result<std::vector<CachePoint>> hit_rates(workloads::TraceReader& trace, HitRateQuestion question) {
  LARDER_TRY(HitRates rates, HitRates::make(std::move(question)));
  while (true) {
    LARDER_TRY(const workloads::Request* const request, trace.next());
    if (request == nullptr) return rates.points();
    rates.request(request->blocks);
  }
}

}  // namespace larder::sim
