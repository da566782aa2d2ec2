#include "sim/planning/pool_curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "sim/planning/run.h"
#include "tests/unit/sim/planning/small.h"

namespace larder::sim {
namespace {

using Pages = std::vector<PageNumber>;
using Point = PoolCurve::Point;

Point point(const PoolCurve& curve, std::uint64_t pages) {
  const auto found = std::ranges::find(curve.points, pages, &Point::pages);
  return found == curve.points.end() ? Point{} : *found;
}

// Three prompts over four pages, each put when it was missing. By hand: of 9 pages 5 were there
// before; the last page of the last prompt was used four pages ago, the others three; and as for
// the bound, one place serves page 0 twice, two serve 0 and 1 twice, three all.
PoolCurve of_three_prompts(bool first_is_warmup, std::uint64_t own_pages) {
  bool counts = !first_is_warmup;
  PoolCurveRecorder recorder([&] { return counts; });
  const bool first = recorder.asked(Pages{0, 1, 2});
  recorder.put(Pages{0, 1, 2});
  counts = true;
  const bool second = recorder.asked(Pages{0, 1, 3});
  recorder.answered(first, 1);  // comes late
  recorder.answered(second, 2);
  recorder.put(Pages{3});
  recorder.answered(recorder.asked(Pages{0, 1, 2}), 2);
  return recorder.curve({.fetched = 3, .pages = own_pages, .page_room = Bytes{10}});
}

TEST(PoolCurve, IsWhatOneFindsByHand) {
  const PoolCurve curve = of_three_prompts(false, 3);
  EXPECT_EQ(curve.asked, 9u);
  EXPECT_EQ(curve.found, 5u);
  EXPECT_EQ(curve.fetched, 3u);
  EXPECT_EQ(curve.different_pages, 4u);
  EXPECT_EQ(curve.infinite_found, 5u);
  EXPECT_EQ(curve.lru_found, 4u);
  EXPECT_EQ(curve.belady_found, 5u);
  EXPECT_EQ(point(curve, 1).lru_found, 0u);
  EXPECT_EQ(point(curve, 1).belady_found, 2u);
  EXPECT_EQ(point(curve, 2).lru_found, 0u);
  EXPECT_EQ(point(curve, 2).belady_found, 4u);
  EXPECT_EQ(point(curve, 3).lru_found, 4u);
  EXPECT_EQ(point(curve, 4).lru_found, 5u);
  EXPECT_EQ(point(curve, 4).belady_found, 5u);
}

TEST(PoolCurve, TheWarmUpFillsTheCachesAndIsNotCounted) {
  const PoolCurve curve = of_three_prompts(true, 2);
  EXPECT_EQ(curve.asked, 6u);
  EXPECT_EQ(curve.found, 4u);
  EXPECT_EQ(curve.infinite_found, 5u);
  EXPECT_EQ(point(curve, 1).belady_found, 2u);
  EXPECT_EQ(curve.belady_found, 4u);
}

TEST(PoolCurve, WhatWasPutWithoutBeingAskedForIsFound) {
  PoolCurveRecorder recorder([] { return true; });
  recorder.put(Pages{0, 1});
  recorder.asked(Pages{0, 1});
  recorder.put(Pages{1});
  recorder.asked(Pages{1, 0});
  const PoolCurve curve = recorder.curve({.fetched = 0, .pages = 1, .page_room = Bytes{10}});
  EXPECT_EQ(curve.infinite_found, 4u);
  EXPECT_EQ(curve.lru_found, 1u);  // the second 1; the second 0 is behind the newer 1
  // One place: 0 or 1 of the first call, and 0 or 1 of the second.
  EXPECT_EQ(curve.belady_found, 2u);
}

TEST(PoolCurve, ACacheWithoutLimitFindsWhatIsLeading) {
  PoolCurveRecorder recorder([] { return true; });
  recorder.asked(Pages{1});
  recorder.asked(Pages{0, 1});  // 1 was there, and 0 before it was not
  const PoolCurve curve = recorder.curve({.fetched = 0, .pages = {}, .page_room = Bytes{10}});
  EXPECT_EQ(curve.infinite_found, 0u);
  EXPECT_EQ(curve.belady_found, 0u) << "no more than without limit";
  EXPECT_EQ(curve.pool_pages, std::nullopt);
}

TEST(PoolCurve, E7OfNothingAskedIsNothing) {
  PoolCurveRecorder recorder([] { return true; });
  const PoolCurve curve = recorder.curve({.fetched = 0, .pages = 7, .page_room = Bytes{10}});
  EXPECT_EQ(curve.asked, 0u);
  EXPECT_EQ(curve.infinite_found, 0u);
  ASSERT_EQ(curve.points.size(), 1u);
  EXPECT_EQ(curve.points[0].pages, 7u);
}

TEST(PoolCurve, ALongRunHasNoBeladyAndAllElse) {
  PoolCurveRecorder recorder([] { return true; });
  const Pages page{0};
  for (std::uint64_t i = 0; i <= PoolCurve::accesses_max; ++i) recorder.asked(page);
  const PoolCurve curve = recorder.curve({.fetched = 0, .pages = 1, .page_room = Bytes{10}});
  EXPECT_EQ(curve.asked, PoolCurve::accesses_max + 1);
  EXPECT_EQ(curve.lru_found, PoolCurve::accesses_max);
  EXPECT_EQ(curve.belady_found, std::nullopt);
  EXPECT_EQ(curve.points.front().belady_found, std::nullopt);
}

Run run_with_curve(const Setting& setting) {
  const auto trace = small_trace();
  RunWatcher watcher;
  return run(setting, *trace, watcher, {.pool_curve = true}).value();
}

TEST(PoolCurve, NoRunFindsMoreThanItsBounds) {
  std::uint64_t found = 0;
  for (const bool serving : {true, false}) {
    for (const std::uint64_t gib : {1u, 4u, 16u}) {
      for (const char* const policy : {"lru", "leaf-first", "s3-fifo"}) {
        Setting setting = small_setting();
        setting.serving = serving;
        setting.memory_per_node = Bytes{gib << 30};
        setting.policy = policy;
        if (gib == 4u) {
          setting.faults = parse_faults("node:0@20s+10s,master@35s+1s").value();
          setting.warmup_requests = 30;
        }
        const auto run = run_with_curve(setting);
        const PoolCurve& curve = run.curve.value();
        found += curve.found;
        EXPECT_EQ(curve.fetched, run.totals.pool_hits);
        if (gib != 4u) {
          EXPECT_EQ(curve.found, run.pool.lookups.came);
        }
        EXPECT_LE(curve.fetched, curve.found);
        EXPECT_LE(curve.found, curve.belady_found) << gib << policy;
        EXPECT_LE(curve.lru_found, curve.belady_found);
        EXPECT_LE(curve.belady_found, curve.infinite_found);
        EXPECT_LE(curve.infinite_found, curve.asked);
        for (std::size_t i = 1; i < curve.points.size(); ++i) {
          EXPECT_LT(curve.points[i - 1].pages, curve.points[i].pages);
          EXPECT_LE(curve.points[i - 1].lru_found, curve.points[i].lru_found);
        }
      }
    }
  }
  EXPECT_GT(found, 0u);
}

// One request after the other, the pool is asked what a cache is asked.
TEST(PoolCurve, OneRequestAtATimeItIsTheCurveOfTheTrace) {
  Setting setting = small_setting();
  setting.serving = setting.fabric = false;
  setting.every = std::chrono::seconds(1);
  setting.memory_per_node = std::nullopt;
  const auto run = run_with_curve(setting);
  const PoolCurve& curve = run.curve.value();
  EXPECT_EQ(curve.asked, run.totals.blocks);
  EXPECT_EQ(curve.found, curve.infinite_found);
  LruCurve lru;
  Belady belady;
  BlockNumbers numbers;
  const auto trace = small_trace();
  while (const workloads::Request* const request = trace->next().value()) {
    const auto blocks = numbers.of(request->blocks);
    lru.request(blocks);
    belady.request(blocks);
  }
  EXPECT_EQ(curve.different_pages, lru.unique_blocks());
  std::size_t bounds = 0;
  for (const Point& each : curve.points) {
    EXPECT_EQ(each.lru_found, lru.at(each.pages).leading_hits) << each.pages;
    if (!each.belady_found) continue;
    ++bounds;
    EXPECT_EQ(each.belady_found, belady.at(each.pages).hits) << each.pages;
  }
  EXPECT_GE(bounds, 8u);
}

TEST(PoolCurve, WithoutTheWishThereIsNone) {
  EXPECT_FALSE(run_small(small_setting()).value().curve);
}

}  // namespace
}  // namespace larder::sim
