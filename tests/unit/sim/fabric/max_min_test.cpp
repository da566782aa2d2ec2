#include "sim/fabric/max_min.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "core/base/random.h"

namespace larder::sim {
namespace {

using testing::DoubleNear;

using Path = std::vector<EdgeId>;

// A solver whose changes are kept, as a caller would.
class Followed {
 public:
  explicit Followed(const std::vector<Bytes>& capacities) : max_min_(capacities) {}

  void start(std::uint32_t flow, const Path& path, Bytes limit = MaxMin::no_limit) {
    max_min_.start(flow, path, limit, changed_);
    follow();
  }
  void end(std::uint32_t flow) {
    max_min_.end(flow, changed_);
    told_.erase(flow);
    follow();
  }
  void set_capacity(std::uint32_t edge, Bytes per_second) {
    max_min_.set_capacity({edge}, per_second, changed_);
    follow();
  }
  double rate(std::uint32_t flow) const { return told_.at(flow); }
  const std::map<std::uint32_t, double>& rates() const { return told_; }
  const MaxMin& max_min() const { return max_min_; }
  std::size_t changes() const { return changes_; }

 private:
  void follow() {
    changes_ = changed_.size();
    for (const auto& [flow, per_second] : changed_) told_[flow] = per_second;
    changed_.clear();
  }

  MaxMin max_min_;
  std::vector<MaxMin::Change> changed_;
  std::map<std::uint32_t, double> told_;
  std::size_t changes_ = 0;
};

TEST(MaxMinRates, FlowsOnOneEdgeHaveEqualParts) {
  Followed rates({{90}});
  rates.start(0, {{0}});
  EXPECT_EQ(rates.rate(0), 90);
  rates.start(1, {{0}});
  rates.start(2, {{0}});
  for (const std::uint32_t flow : {0u, 1u, 2u}) EXPECT_DOUBLE_EQ(rates.rate(flow), 30);
  rates.end(1);
  EXPECT_DOUBLE_EQ(rates.rate(0), 45);
}

// The example of the textbooks: a long flow and a short one on each of its edges.
TEST(MaxMinRates, WhatOneFlowCannotUseOthersGet) {
  Followed rates({{10}, {100}});
  rates.start(0, {{0}, {1}});
  rates.start(1, {{0}});
  rates.start(2, {{1}});
  EXPECT_DOUBLE_EQ(rates.rate(0), 5);
  EXPECT_DOUBLE_EQ(rates.rate(1), 5);
  EXPECT_DOUBLE_EQ(rates.rate(2), 95);
  rates.end(1);
  EXPECT_DOUBLE_EQ(rates.rate(0), 10);
  EXPECT_DOUBLE_EQ(rates.rate(2), 90);
}

TEST(MaxMinRates, AFlowMovesAtItsLimitAtMost) {
  Followed rates({{100}});
  rates.start(0, {{0}}, {20});
  rates.start(1, {{0}});
  EXPECT_DOUBLE_EQ(rates.rate(0), 20);
  EXPECT_DOUBLE_EQ(rates.rate(1), 80);
  rates.start(2, {}, {7});
  EXPECT_DOUBLE_EQ(rates.rate(2), 7);
}

TEST(MaxMinRates, APathThatTakesAnEdgeTwiceUsesItTwice) {
  Followed rates({{90}});
  rates.start(0, {{0}, {0}});
  EXPECT_DOUBLE_EQ(rates.rate(0), 45);
  rates.start(1, {{0}});
  EXPECT_DOUBLE_EQ(rates.rate(0), 30);
  EXPECT_DOUBLE_EQ(rates.rate(1), 30);
  rates.end(0);
  EXPECT_DOUBLE_EQ(rates.rate(1), 90);
}

TEST(MaxMinRates, FollowTheCapacity) {
  Followed rates({{100}, {1'000}});
  rates.start(0, {{0}, {1}});
  rates.start(1, {{1}});
  EXPECT_DOUBLE_EQ(rates.rate(1), 900);
  rates.set_capacity(0, {300});
  EXPECT_DOUBLE_EQ(rates.rate(0), 300);
  EXPECT_DOUBLE_EQ(rates.rate(1), 700);
  rates.set_capacity(1, {10});
  EXPECT_DOUBLE_EQ(rates.rate(0), 5);
  EXPECT_DOUBLE_EQ(rates.max_min().carried({1}), 10);
}

TEST(MaxMinRates, AChangeDoesNotTouchWhomItDoesNotConcern) {
  Followed rates({{100}, {100}, {1'000}});
  rates.start(0, {{0}, {2}});
  rates.start(1, {{1}, {2}});  // they meet on an edge that is wide enough for both
  EXPECT_EQ(rates.changes(), 1u);
  rates.start(2, {{1}});
  EXPECT_EQ(rates.changes(), 2u);
  rates.end(0);
  EXPECT_EQ(rates.changes(), 0u);
}

// ---- any graph ----------------------------------------------------------------------------------

struct World {
  std::vector<Bytes> capacities;
  std::map<std::uint32_t, std::pair<Path, Bytes>> flows;
};

bool near(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

// Straight from the definition: no edge carries too much, and each flow has its limit, or an edge
// that is full and on which nobody has more.
void check_fair(const World& world, const std::map<std::uint32_t, double>& rates) {
  std::vector<double> sum(world.capacities.size());
  std::vector<double> most(world.capacities.size());
  for (const auto& [flow, path_and_limit] : world.flows) {
    for (const EdgeId edge : path_and_limit.first) {
      sum[edge.value] += rates.at(flow);
      most[edge.value] = std::max(most[edge.value], rates.at(flow));
    }
  }
  const auto capacity = [&](EdgeId edge) {
    return static_cast<double>(world.capacities[edge.value].value);
  };
  for (std::uint32_t edge = 0; edge < sum.size(); ++edge) {
    RC_ASSERT(sum[edge] <= capacity({edge}) * (1 + 1e-9));
  }
  for (const auto& [flow, path_and_limit] : world.flows) {
    const auto& [path, limit] = path_and_limit;
    const double rate = rates.at(flow);
    const bool settled =
        near(rate, static_cast<double>(limit.value)) || std::ranges::any_of(path, [&](EdgeId edge) {
          return near(sum[edge.value], capacity(edge)) && rate >= most[edge.value] * (1 - 1e-9);
        });
    RC_ASSERT(settled);
  }
}

Bytes any_rate() {
  // Equal ones, small ones and large ones.
  return {*rc::gen::oneOf(rc::gen::element<std::uint64_t>(100, 1'000),
                          rc::gen::inRange<std::uint64_t>(1, 50),
                          rc::gen::inRange<std::uint64_t>(1, 1'000'000'000'000))};
}

Path any_path(std::size_t edges) {
  Path path;
  const auto length = *rc::gen::inRange<std::size_t>(1, std::min<std::size_t>(edges, 7) + 1);
  for (std::size_t i = 0; i < length; ++i) {
    path.push_back({*rc::gen::inRange<std::uint32_t>(0, static_cast<std::uint32_t>(edges))});
  }
  return path;
}

RC_GTEST_PROP(MaxMinRates, EqualTheFullSolutionAfterEachChange, ()) {
  World world;
  const auto edges = *rc::gen::inRange<std::size_t>(1, 25);
  for (std::size_t edge = 0; edge < edges; ++edge) world.capacities.push_back(any_rate());
  Followed followed(world.capacities);
  const int steps = *rc::gen::inRange(1, 60);
  for (int step = 0; step < steps; ++step) {
    const int what = *rc::gen::inRange(0, 10);
    if (what < 6 || world.flows.empty()) {
      std::uint32_t flow = 0;
      while (world.flows.contains(flow)) ++flow;
      const Path path = any_path(edges);
      const Bytes limit = *rc::gen::arbitrary<bool>() ? MaxMin::no_limit : any_rate();
      followed.start(flow, path, limit);
      world.flows[flow] = {path, limit};
    } else if (what < 9) {
      const auto place = *rc::gen::inRange<std::size_t>(0, world.flows.size());
      const auto flow = std::next(world.flows.begin(), static_cast<std::ptrdiff_t>(place));
      followed.end(flow->first);
      world.flows.erase(flow);
    } else {
      const auto edge = *rc::gen::inRange<std::uint32_t>(0, static_cast<std::uint32_t>(edges));
      world.capacities[edge] = any_rate();
      followed.set_capacity(edge, world.capacities[edge]);
    }
    const std::vector<double> full = followed.max_min().solve_all();
    RC_ASSERT(followed.rates().size() == world.flows.size());
    for (const auto& [flow, rate] : followed.rates()) {
      RC_ASSERT(rate == followed.max_min().rate(flow));
      RC_ASSERT(near(rate, full[flow]));
    }
    check_fair(world, followed.rates());
  }
}

// Clusters as they are: many flows on the paths of a topology, over a long time.
TEST(MaxMinRates, EqualTheFullSolutionOnAClusterOverTenThousandChanges) {
  const Topology topology = Topology::make(hardware_preset("8xh800-8x200").value()).value();
  Followed followed({topology.rates().begin(), topology.rates().end()});
  Random random(7);
  std::vector<bool> moves(400);
  const auto place = [&] {
    const auto host = static_cast<std::uint32_t>(random.below(topology.hosts()));
    const auto parts = topology.parts_of(host, random.chance(0.5) ? PartKind::gpu : PartKind::dram);
    return parts[random.below(parts.size())];
  };
  for (int change = 0; change < 10'000; ++change) {
    const auto flow = static_cast<std::uint32_t>(random.below(moves.size()));
    if (moves[flow]) {
      followed.end(flow);
    } else {
      const PartId from = place();
      const PartId to = place();
      const auto nic_near = [&](PartId part) {
        return topology.nic(topology.host_of(part), topology.nics_near(part)[random.below(2)].nic);
      };
      const PartId out = nic_near(from);
      const PartId in = nic_near(to);
      Path path;
      topology.append_inside(from, out, path);
      topology.append_wire(out, in, flow, path);
      topology.append_inside(in, to, path);
      followed.start(flow, path);
    }
    moves[flow] = !moves[flow];
    if (change % 200 != 0) continue;
    const std::vector<double> full = followed.max_min().solve_all();
    for (const auto& [number, rate] : followed.rates()) {
      ASSERT_THAT(rate, DoubleNear(full[number], 1e-9 * full[number])) << change;
    }
  }
}

}  // namespace
}  // namespace larder::sim
