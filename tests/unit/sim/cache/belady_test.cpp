#include "sim/cache/belady.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>
#include <vector>

#include "core/eviction/policy.h"
#include "sim/cache/cache_run.h"

namespace larder::sim {
namespace {

using Requests = std::vector<std::vector<BlockNumber>>;

// The most hits that any choice of what leaves, at any access, can give: by trying all.
std::uint64_t best(const std::vector<BlockNumber>& accesses, std::size_t at,
                   const std::set<BlockNumber>& held, std::size_t size) {
  if (at == accesses.size()) return 0;
  std::set<BlockNumber> with = held;
  const bool hit = !with.insert(accesses[at]).second;
  if (with.size() <= size) return (hit ? 1 : 0) + best(accesses, at + 1, with, size);
  std::uint64_t most = 0;
  for (const BlockNumber leaver : with) {
    std::set<BlockNumber> without = with;
    without.erase(leaver);
    most = std::max(most, best(accesses, at + 1, without, size));
  }
  return most;
}

TEST(Belady, IsTheBestOfAllChoices) {
  EXPECT_TRUE(rc::check([] {
    const auto accesses = *rc::gen::resize(
        9, rc::gen::container<std::vector<BlockNumber>>(rc::gen::inRange<BlockNumber>(0, 5)));
    const auto size = *rc::gen::inRange<std::uint64_t>(0, 4);
    Belady bound;
    for (const BlockNumber block : accesses) bound.request({&block, 1});
    RC_ASSERT(bound.at(size).hits == best(accesses, 0, {}, size));
  }));
}

TEST(Belady, NoPolicyExceedsIt) {
  EXPECT_TRUE(rc::check([] {
    // Requests that share prefixes: each block says which stands before it.
    const auto ends =
        *rc::gen::container<std::vector<BlockNumber>>(rc::gen::inRange<BlockNumber>(0, 40));
    Belady bound;
    Requests requests;
    for (const BlockNumber end : ends) {
      std::vector<BlockNumber> request{end};
      while (request.back() > 0) request.push_back((request.back() - 1) / 2);
      std::ranges::reverse(request);
      bound.request(request);
      requests.push_back(std::move(request));
    }
    const auto size = *rc::gen::inRange<std::uint64_t>(0, 20);
    const CachePoint best = bound.at(size);
    RC_ASSERT(best.leading_hits == best.hits);
    for (const std::string_view policy : policy_names()) {
      CacheRun run = CacheRun::make(policy, size).value();
      for (const auto& request : requests) run.request(request);
      RC_ASSERT(run.point().hits <= best.hits);
      RC_ASSERT(run.point().accesses == best.accesses);
    }
  }));
}

TEST(Belady, E9AWarmUpIsNotCounted) {
  Belady bound;
  const std::vector<BlockNumber> request{0, 1, 2};
  bound.request(request);
  bound.forget_counts();
  bound.request(request);
  EXPECT_EQ(bound.at(2), (CachePoint{"belady", 2, 3, 2, 2, 1}));
  EXPECT_EQ(bound.at(std::nullopt), (CachePoint{"belady", {}, 3, 3, 3, 0}));
}

}  // namespace
}  // namespace larder::sim
