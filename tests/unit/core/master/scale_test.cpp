// A million objects: that nothing works through all of them at once is counted here; how long it
// takes with ten million is measured by `./dev bench scale`.
#include <gtest/gtest.h>

#include "core/base/random.h"
#include "tests/scale/large_pool.h"

namespace larder::scale {
namespace {

constexpr std::uint64_t objects = 1'000'000;

Keys some_keys(std::size_t count, Random& random) {
  Keys keys;
  for (std::size_t i = 0; i < count; ++i) keys.add(random.below(objects));
  return keys;
}

TEST(StatementB12, LosingANodeIsDoneInSmallStepsBetweenWhichEverybodyIsAnswered) {
  LargePool pool({.objects = objects});
  pool.join_all();
  ASSERT_EQ(pool.status().objects, objects);
  constexpr std::uint64_t gone = 3;
  Random random(1);
  Keys of_others;
  Keys of_it;
  while (of_others.size() < 64 || of_it.size() < 64) {
    const std::uint64_t i = random.below(objects);
    Keys& keys = i % LargePool::nodes == gone ? of_it : of_others;
    if (keys.size() < 64) keys.add(i);
  }
  ASSERT_EQ(pool.look_up(of_it), 64u);

  pool.lose(gone);
  std::uint64_t before = 0;
  std::uint64_t most = 0;
  std::size_t steps = 0;
  for (; pool.due(); ++steps) {
    pool.turn();
    const std::uint64_t cleared = pool.status().lost_nodes.front().objects;
    most = std::max(most, cleared - before);
    before = cleared;
    ASSERT_EQ(pool.look_up(of_others), 64u);
    ASSERT_EQ(pool.look_up(of_it), 0u) << "what is lost is a miss from the first moment on";
    ASSERT_TRUE(pool.heartbeat(steps % 2)) << "at once";
    ASSERT_LT(steps, 10'000u);
  }
  EXPECT_EQ(before, objects / LargePool::nodes);
  EXPECT_LE(most, 2048u) << "objects in one step";
  EXPECT_EQ(pool.status().objects, objects - objects / LargePool::nodes);
  pool.master().check_invariants();
}

TEST(StatementC5, EvictionGoesOnInSmallStepsBetweenThePiecesOfALongCall) {
  LargePool pool({.objects = objects, .filled = 0.9, .watermarks = {0.5, 0.4}});
  pool.join_all();
  pool.pass(std::chrono::seconds(11));  // what was taken up is held for one lease
  Random random(2);
  const Keys asked = some_keys(30'000, random);
  std::uint64_t before = 0;
  std::uint64_t most = 0;
  std::uint64_t evicted = 0;
  std::size_t pieces = 0;
  const std::size_t found = pool.exist(asked, [&] {
    ++pieces;
    pool.turn();
    evicted = objects - pool.status().objects;
    most = std::max(most, evicted - before);
    before = evicted;
  });
  EXPECT_EQ(pieces, (30'000 + items_per_piece - 1) / items_per_piece);
  EXPECT_GT(evicted, pieces) << "eviction went on all the time";
  EXPECT_LE(most, 512u) << "objects in one step";
  EXPECT_GT(found, 25'000u) << "most of them were asked for before they could go";
  const auto gone_before_they_were_asked_for = 30'000 - found;
  EXPECT_LE(gone_before_they_were_asked_for, evicted);
}

}  // namespace
}  // namespace larder::scale
