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

// Likewise, where some of the accesses only put something in, and nothing has to be kept at all.
struct Access {
  BlockNumber block = 0;
  bool touch = false;
};
std::uint64_t best_with_touches(const std::vector<Access>& accesses, std::size_t at,
                                const std::set<BlockNumber>& held, std::size_t size) {
  if (at == accesses.size()) return 0;
  std::set<BlockNumber> with = held;
  const bool hit = !with.insert(accesses[at].block).second && !accesses[at].touch;
  std::uint64_t most = 0;
  if (with.size() <= size) most = best_with_touches(accesses, at + 1, with, size);
  for (const BlockNumber leaver : with) {
    std::set<BlockNumber> without = with;
    without.erase(leaver);
    if (without.size() <= size)
      most = std::max(most, best_with_touches(accesses, at + 1, without, size));
  }
  return most + (hit ? 1 : 0);
}

TEST(Belady, WithTouchesItsMostHitsAreTheBestOfAllChoices) {
  EXPECT_TRUE(rc::check([] {
    const auto drawn = *rc::gen::resize(
        9, rc::gen::container<std::vector<BlockNumber>>(rc::gen::inRange<BlockNumber>(0, 8)));
    std::vector<Access> accesses;
    Belady bound;
    for (const BlockNumber number : drawn) {
      const Access access{.block = number / 2, .touch = number % 2 == 1};
      accesses.push_back(access);
      access.touch ? bound.touch({&access.block, 1}) : bound.request({&access.block, 1});
    }
    const std::vector<std::uint64_t> sizes{0, 1, 2, 3};
    const std::vector<std::uint64_t> most = bound.most_hits(sizes);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      RC_ASSERT(most[i] == best_with_touches(accesses, 0, {}, sizes[i]));
    }
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
    RC_ASSERT(bound.most_hits(std::vector{size}).front() == best.hits);
    for (const std::string_view policy : policy_names()) {
      CacheRun run = CacheRun::make(policy, size).value();
      for (const auto& request : requests) run.request(request);
      RC_ASSERT(run.point().hits <= best.hits);
      RC_ASSERT(run.point().accesses == best.accesses);
    }
  }));
}

// Requests that share prefixes, whose last block may be partial.
struct TokenTrace {
  static constexpr std::uint32_t block_tokens = 5;
  Requests requests;
  std::vector<std::uint64_t> input_tokens;

  explicit TokenTrace(const std::vector<BlockNumber>& ends) {
    for (const BlockNumber end : ends) {
      std::vector<BlockNumber> request{end};
      while (request.back() > 0) request.push_back((request.back() - 1) / 2);
      std::ranges::reverse(request);
      const bool leaf = end >= 20;  // nothing is behind it
      input_tokens.push_back((request.size() - 1) * block_tokens +
                             (leaf ? 1 + end % block_tokens : std::uint64_t{block_tokens}));
      requests.push_back(std::move(request));
    }
  }
};

TokenTrace any_token_trace() {
  return TokenTrace(
      *rc::gen::container<std::vector<BlockNumber>>(rc::gen::inRange<BlockNumber>(0, 41)));
}

// The same trace with each token as a block of its own: there the bound is known to be right.
TEST(Belady, ByTokensIsTheBoundOfTheSameTraceOfSingleTokens) {
  EXPECT_TRUE(rc::check([] {
    const TokenTrace trace = any_token_trace();
    Belady by_tokens;
    Belady single;
    for (std::size_t r = 0; r < trace.requests.size(); ++r) {
      by_tokens.request(trace.requests[r], {.input_tokens = trace.input_tokens[r],
                                            .block_tokens = TokenTrace::block_tokens});
      std::vector<BlockNumber> tokens;
      for (std::uint64_t at = 0; at < trace.input_tokens[r]; ++at) {
        const BlockNumber block = trace.requests[r][at / TokenTrace::block_tokens];
        tokens.push_back(block * TokenTrace::block_tokens +
                         static_cast<BlockNumber>(at % TokenTrace::block_tokens));
      }
      single.request(tokens);
    }
    const auto capacity = *rc::gen::inRange<std::uint64_t>(0, 120);
    const TokenPoint point = by_tokens.at_tokens(capacity);
    const CachePoint expected = single.at(capacity);
    RC_ASSERT(point.accesses == expected.accesses);
    RC_ASSERT(point.hits == expected.hits);
    RC_ASSERT(point.leading_hits == expected.leading_hits);
    RC_ASSERT(by_tokens.at_tokens(std::nullopt).hits == single.at(std::nullopt).hits);
  }));
}

// An LRU of whole blocks, of which so many stay as fit.
TEST(Belady, ByTokensNoCacheOfWholeBlocksExceedsIt) {
  EXPECT_TRUE(rc::check([] {
    const TokenTrace trace = any_token_trace();
    const auto capacity = *rc::gen::inRange<std::uint64_t>(0, 120);
    Belady bound;
    std::vector<std::pair<BlockNumber, std::uint64_t>> held;  // the most recently used last
    std::uint64_t hits = 0;
    for (std::size_t r = 0; r < trace.requests.size(); ++r) {
      bound.request(trace.requests[r], {.input_tokens = trace.input_tokens[r],
                                        .block_tokens = TokenTrace::block_tokens});
      std::uint64_t left = trace.input_tokens[r];
      for (const BlockNumber block : trace.requests[r]) {
        const std::uint64_t tokens = std::min<std::uint64_t>(left, TokenTrace::block_tokens);
        left -= tokens;
        const auto at = std::ranges::find(held, block, &decltype(held)::value_type::first);
        if (at != held.end()) {
          hits += tokens;
          held.erase(at);
        }
        held.emplace_back(block, tokens);
        const auto sum = [&] {
          std::uint64_t total = 0;
          for (const auto& [number, size] : held) total += size;
          return total;
        };
        while (sum() > capacity) held.erase(held.begin());
      }
    }
    RC_ASSERT(hits <= bound.at_tokens(capacity).hits);
  }));
}

// Two requests of 3 and 2 tokens, one after the other again and again, in room for 4: the one whose
// turn comes first stays whole, and of the other one what fits. By hand.
TEST(Belady, ByTokensKeepsAPartOfABlock) {
  Belady bound;
  const std::vector<BlockNumber> a{0};
  const std::vector<BlockNumber> b{1};
  bound.request(a, {.input_tokens = 3, .block_tokens = 4});
  bound.request(b, {.input_tokens = 2, .block_tokens = 4});
  bound.request(a, {.input_tokens = 3, .block_tokens = 4});
  bound.request(b, {.input_tokens = 2, .block_tokens = 4});
  // b leaves by one token when it comes, since a is used first; then a, which is used no more,
  // gives way.
  EXPECT_EQ(bound.at_tokens(4),
            (TokenPoint{.capacity = 4, .accesses = 10, .hits = 4, .leading_hits = 4}));
  EXPECT_EQ(bound.at_tokens(5),
            (TokenPoint{.capacity = 5, .accesses = 10, .hits = 5, .leading_hits = 5}));
  EXPECT_EQ(bound.at_tokens(0).hits, 0u);
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
