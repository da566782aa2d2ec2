#include "core/catalog/replicas.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

namespace larder {
namespace {

std::vector<std::uint64_t> offsets(const Replicas& replicas) {
  std::vector<std::uint64_t> list;
  for (const Replica& replica : replicas) list.push_back(replica.offset.value);
  return list;
}

TEST(Replicas, APlaceWithoutASegmentIsAReplicaToo) {
  Replicas replicas;
  EXPECT_TRUE(replicas.empty());
  replicas.push_back(Replica{.state = ReplicaState::gone});
  EXPECT_EQ(replicas.size(), 1u);
  EXPECT_EQ(replicas[0].segment, no_segment);
}

RC_GTEST_PROP(Replicas, ActAsAVector, ()) {
  Replicas replicas;
  std::vector<std::uint64_t> model;
  const int steps = *rc::gen::inRange(0, 60);
  for (int i = 0; i < steps; ++i) {
    if (model.empty() || *rc::gen::inRange(0, 3) > 0) {
      const auto number = static_cast<std::uint64_t>(i);
      replicas.push_back({.segment = 1, .offset = {number}});
      model.push_back(number);
    } else {
      const auto at = *rc::gen::inRange<std::size_t>(0, model.size());
      replicas.erase(&replicas[at]);
      model.erase(model.begin() + static_cast<std::ptrdiff_t>(at));
    }
    RC_ASSERT(replicas.size() == model.size() && replicas.empty() == model.empty());
    RC_ASSERT(offsets(replicas) == model);
  }
}

}  // namespace
}  // namespace larder
