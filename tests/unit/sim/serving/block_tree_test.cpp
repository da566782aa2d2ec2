#include "sim/serving/block_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "core/base/random.h"

namespace larder::sim {
namespace {

using Node = BlockTree::Node;
using Prompt = std::vector<std::uint64_t>;

// Computes a prompt's blocks, as an engine does: room first, then the blocks, then it is done.
std::vector<Node> compute(BlockTree& tree, const Prompt& prompt) {
  std::vector<Node> path;
  std::vector<BlockTree::Leaving> leaving;
  const BlockTree::Match match = tree.find(prompt, path);
  tree.lock(path);
  EXPECT_TRUE(tree.make_gpu_room(prompt.size() - match.on_gpu, false, leaving));
  tree.take_gpu(prompt.size() - match.on_gpu);
  for (std::size_t i = match.on_gpu; i < match.blocks; ++i) tree.load(path[i]);
  for (std::size_t i = match.blocks; i < prompt.size(); ++i) {
    path.push_back(tree.add_on_gpu(path.empty() ? BlockTree::none : path.back(), prompt[i]));
  }
  tree.unlock(path);
  return path;
}

void save(BlockTree& tree, Node node) {
  ASSERT_TRUE(tree.make_host_room(1));
  tree.take_host(1);
  tree.save(node);
}

BlockTree::Match match(const BlockTree& tree, const Prompt& prompt) {
  std::vector<Node> path;
  return tree.find(prompt, path);
}

TEST(BlockTree, APrefixIsFoundAsFarAsItGoes) {
  BlockTree tree({.gpu = 10, .host = 10});
  compute(tree, {1, 2, 3});
  EXPECT_EQ(match(tree, {1, 2, 3, 4}).on_gpu, 3);
  EXPECT_EQ(match(tree, {1, 2, 9}).on_gpu, 2);
  EXPECT_EQ(match(tree, {2, 3}).blocks, 0) << "2 stands for 1 and 2";
  EXPECT_EQ(tree.leading(Prompt{1, 2, 9}), 2);
  EXPECT_EQ(tree.free().gpu, 7);
  tree.check_invariants();
}

TEST(BlockTree, TheLeastRecentlyUsedLeavesAndOfAPathItsEnd) {
  BlockTree tree({.gpu = 4, .host = 10});
  compute(tree, {1, 2});
  compute(tree, {3, 4});
  compute(tree, {1, 2});
  compute(tree, {5});  // 4 leaves
  EXPECT_EQ(match(tree, {3, 4}).on_gpu, 1);
  compute(tree, {6, 7});  // 3 and 2
  EXPECT_EQ(match(tree, {3, 4}).on_gpu, 0);
  EXPECT_EQ(match(tree, {1, 2}).on_gpu, 1);
  EXPECT_EQ(tree.blocks(), 4);
  tree.check_invariants();
}

TEST(BlockTree, WhatIsLockedStays) {
  BlockTree tree({.gpu = 2, .host = 10});
  const std::vector<Node> path = compute(tree, {1, 2});
  tree.lock(path);
  std::vector<BlockTree::Leaving> leaving;
  EXPECT_FALSE(tree.make_gpu_room(1, false, leaving));
  tree.unlock(path);
  EXPECT_TRUE(tree.make_gpu_room(1, false, leaving));
  EXPECT_EQ(match(tree, {1, 2}).on_gpu, 1);
}

TEST(BlockTree, WhereTooFewMayLeaveNoneDoes) {
  BlockTree tree({.gpu = 3, .host = 1});
  const std::vector<Node> path = compute(tree, {1, 2});
  compute(tree, {3});
  tree.lock(path);
  std::vector<BlockTree::Leaving> leaving;
  EXPECT_FALSE(tree.make_gpu_room(2, true, leaving));
  EXPECT_TRUE(leaving.empty());
  EXPECT_EQ(match(tree, {3}).on_gpu, 1);
  tree.take_host(1);
  (void)tree.add_on_host(BlockTree::none, 4);
  EXPECT_FALSE(tree.make_host_room(2));
  EXPECT_EQ(match(tree, {4}).blocks, 1);
}

TEST(BlockTree, OnlyWhatIsNotOnTheGpusLeavesTheHost) {
  BlockTree tree({.gpu = 2, .host = 2});
  const std::vector<Node> path = compute(tree, {1, 2});
  save(tree, path[0]);
  save(tree, path[1]);
  EXPECT_FALSE(tree.make_host_room(1));
  compute(tree, {3});  // 2 leaves the GPUs
  EXPECT_EQ(match(tree, {1, 2}).on_gpu, 1);
  EXPECT_EQ(match(tree, {1, 2}).blocks, 2);
  tree.lock_host(path[1]);
  EXPECT_FALSE(tree.make_host_room(1));
  tree.unlock_host(path[1]);
  EXPECT_TRUE(tree.make_host_room(1));
  EXPECT_EQ(match(tree, {1, 2}).blocks, 1);
  tree.check_invariants();
}

TEST(BlockTree, ABlockWithoutThoseBeforeItIsOfUseAgainWhenTheyAreBack) {
  BlockTree tree({.gpu = 2, .host = 4});
  const std::vector<Node> path = compute(tree, {1, 2});
  save(tree, path[1]);
  compute(tree, {3, 4});  // 1 was not on the host
  EXPECT_EQ(match(tree, {1, 2}).blocks, 0);
  tree.check_invariants();
  compute(tree, {1});
  EXPECT_EQ(match(tree, {1, 2}).blocks, 2);
  EXPECT_EQ(match(tree, {1, 2}).on_gpu, 1);
  tree.check_invariants();
}

TEST(BlockTree, WhatIsToBeKeptIsCopiedBeforeItLeaves) {
  BlockTree tree({.gpu = 3, .host = 4});
  const std::vector<Node> path = compute(tree, {1, 2, 3});
  save(tree, path[1]);
  std::vector<BlockTree::Leaving> leaving;
  EXPECT_FALSE(tree.make_gpu_room(2, true, leaving));
  // 3 is copied; 2 is on the host, but cannot leave before it.
  ASSERT_EQ(leaving.size(), 2);
  EXPECT_TRUE(leaving[0].node == path[2] && leaving[0].copy);
  EXPECT_TRUE(leaving[1].node == path[1] && !leaving[1].copy);
  EXPECT_EQ(tree.free().gpu, 0);
  for (const BlockTree::Leaving& each : leaving) tree.left(each.node);
  EXPECT_EQ(tree.free().gpu, 2);
  EXPECT_EQ(match(tree, {1, 2, 3}).on_gpu, 1);
  EXPECT_EQ(match(tree, {1, 2, 3}).blocks, 3);
  tree.check_invariants();
}

TEST(BlockTree, WhatIsUsedWhileItIsCopiedDoesNotLeave) {
  BlockTree tree({.gpu = 2, .host = 4});
  const std::vector<Node> path = compute(tree, {1, 2});
  std::vector<BlockTree::Leaving> leaving;
  EXPECT_FALSE(tree.make_gpu_room(1, true, leaving));
  tree.lock(path);
  tree.left(leaving[0].node);
  tree.unlock(path);
  EXPECT_EQ(match(tree, {1, 2}).on_gpu, 2);
  tree.check_invariants();
}

TEST(BlockTree, WhatIsFetchedTwiceIsKeptOnce) {
  BlockTree tree({.gpu = 4, .host = 4});
  tree.take_host(2);
  const auto [node, fresh] = tree.add_on_host(BlockTree::none, 1);
  EXPECT_TRUE(fresh);
  EXPECT_FALSE(tree.add_on_host(BlockTree::none, 1).fresh);
  EXPECT_EQ(tree.free().host, 3);
  EXPECT_EQ(tree.parent_id(node), 1) << "a first block";
  EXPECT_EQ(tree.depth(node), 0);
}

TEST(BlockTree, AnIdBehindAnotherBlockIsNotFoundAndNotAdded) {
  BlockTree tree({.gpu = 4, .host = 4});
  compute(tree, {1, 2});
  EXPECT_EQ(match(tree, {2}).blocks, 0);
  tree.take_gpu(1);
  EXPECT_EQ(tree.add_on_gpu(BlockTree::none, 2), BlockTree::none);
  tree.give_gpu(1);
  tree.take_host(1);
  EXPECT_EQ(tree.add_on_host(BlockTree::none, 2).node, BlockTree::none);
  EXPECT_EQ(tree.free().host, 4) << "its room is given back";
  tree.check_invariants();
}

// Whatever is done, all blocks are accounted for.
TEST(BlockTree, StaysWholeInAThousandRandomSteps) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    BlockTree tree({.gpu = 6, .host = 5});
    std::vector<BlockTree::Leaving> leaving;
    for (int step = 0; step < 1'000; ++step) {
      // A prompt of a tree with three branches at each block.
      Prompt prompt;
      std::uint64_t id = 0;
      for (std::uint64_t i = random.below(5) + 1; i > 0; --i) {
        id = id * 4 + 1 + random.below(3);
        prompt.push_back(id);
      }
      std::vector<Node> path;
      switch (random.below(4)) {
        case 0:
          path = compute(tree, prompt);
          break;
        case 1:
          (void)tree.find(prompt, path);
          for (const Node node : path) {
            if (tree.on_gpu(node) && !tree.on_host(node) && tree.make_host_room(1)) {
              save(tree, node);
            }
          }
          break;
        case 2: {
          if (!tree.make_host_room(1)) break;
          tree.take_host(1);
          (void)tree.add_on_host(BlockTree::none, prompt[0]);
          break;
        }
        default:
          (void)tree.make_gpu_room(random.below(7), true, leaving);
          for (const BlockTree::Leaving& each : leaving) tree.left(each.node);
          leaving.clear();
      }
      tree.check_invariants();
    }
    EXPECT_TRUE(tree.make_gpu_room(6, false, leaving));
    EXPECT_TRUE(tree.make_host_room(5));
    EXPECT_EQ(tree.blocks(), 0);
    EXPECT_EQ(tree.free().gpu, 6);
    EXPECT_EQ(tree.free().host, 5);
  }
}

}  // namespace
}  // namespace larder::sim
