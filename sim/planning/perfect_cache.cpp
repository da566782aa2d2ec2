#include "sim/planning/perfect_cache.h"

#include "sim/cache/belady.h"
#include "sim/serving/serving.h"

namespace larder::sim {

Result<PerfectCache> PerfectCache::of(workloads::TraceReader& trace, const Rules& rules) {
  PerfectCache cache;
  Belady belady;
  BlockNumbers numbers;
  std::vector<std::uint64_t> pages;
  std::vector<workloads::BlockId> ids;
  std::size_t all = 0;
  while (true) {
    LARDER_TRY(const workloads::Request* const request, trace.next());
    if (request == nullptr) break;
    LARDER_CHECK(pages_of(*request, rules.page_tokens, pages));
    ids.clear();
    for (const std::uint64_t page : pages) ids.push_back({page});
    belady.request(numbers.of(ids));
    cache.begins_.push_back(all);
    all += pages.size();
  }
  (void)belady.at(rules.pages, &cache.had_);  // the point itself is hit-rate's
  return cache;
}

}  // namespace larder::sim
