#include "sim/fabric/max_min.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/assert.h"

// No fused operations, which some processors have and some do not: the same rates everywhere.
#pragma STDC FP_CONTRACT OFF

namespace larder::sim {
namespace {

constexpr std::uint64_t capacity_max = 1'000'000'000'000'000;
// What rounding leaves of equality: of two rates, of an edge that is full, of a rate that has not
// changed. Far below the 1e-9 that is promised, far above what sums of doubles lose.
constexpr double rate_slack = 1e-12;
constexpr double full_slack = 1e-13;
constexpr double same_slack = 1e-14;
constexpr double level_slack = 1e-9;
// After so many passes all that may be concerned is taken at once: where a change goes far, that is
// less work than to follow it step by step.
constexpr int passes_max = 2;
constexpr std::size_t many_flows = 16;  // at hand; likewise

// Of a flow on an edge, whose bound is at most capacity_max and so exact as a double.
std::uint64_t whole(double bound) { return static_cast<std::uint64_t>(bound); }

// Of an edge's shares, looked at together.
constexpr std::size_t block_shares = 64;

// In four rows, which do not wait for each other.
double least_of(std::span<const double, block_shares> shares) {
  std::array<double, 4> least{shares[0], shares[1], shares[2], shares[3]};
  for (std::size_t i = 4; i < block_shares; i += 4) {
    for (std::size_t row = 0; row < 4; ++row) least[row] = std::min(least[row], shares[i + row]);
  }
  return *std::ranges::min_element(least);
}

}  // namespace

MaxMin::MaxMin(std::span<const Bytes> per_second) {
  edges_.reserve(per_second.size());
  for (const Bytes each : per_second) add_edge(each);
}

EdgeId MaxMin::add_edge(Bytes per_second) {
  LARDER_ASSERT(per_second > Bytes{} && per_second.value <= capacity_max);
  edges_.emplace_back().capacity = per_second.value;
  return {static_cast<std::uint32_t>(edges_.size() - 1)};
}

// ---- changes ------------------------------------------------------------------------------------

void MaxMin::start(std::uint32_t number, std::span<const EdgeId> path, Bytes limit,
                   std::vector<Change>& changed) {
  if (number >= flows_.size()) {
    flows_.resize(number + 1);
    paths_.resize(number + 1);
  }
  Path& own = paths_[number];
  LARDER_ASSERT(own.limit == 0 && limit > Bytes{} && !(path.empty() && limit == no_limit));
  own.limit = limit.value;
  ++live_;
  for (const EdgeId edge : path) join(number, edge.value);
  const std::uint64_t bound = bound_of(own);
  flows_[number].bound = static_cast<double>(bound);
  for (const Hop& hop : own.hops) edges_[hop.edge].demand += bound;

  // It will get its equal part of some edge, or more: who has less has nothing to fear from it.
  double least = flows_[number].bound;
  for (const Hop& hop : own.hops) {
    const Edge& edge = edges_[hop.edge];
    const double part = static_cast<double>(edge.capacity) / static_cast<double>(edge.users.size());
    if (edge.can_fill()) least = std::min(least, part);
  }
  begin_change(least);
  gather(number);
  for (const Hop& hop : own.hops) {
    const Edge& edge = edges_[hop.edge];
    if (!edge.can_fill()) continue;
    for (const User& user : edge.users) {
      if (flows_[user.flow].rate > least) gather(user.flow);
    }
  }
  solve(changed);
}

void MaxMin::end(std::uint32_t number, std::vector<Change>& changed) {
  begin_change(flows_[number].rate);
  for (const Hop& hop : paths_[number].hops) {
    if (edges_[hop.edge].bottleneck_of == 0) continue;
    for (const User& user : edges_[hop.edge].users) {
      if (flows_[user.flow].bottleneck == hop.edge && user.flow != number) gather(user.flow);
    }
  }
  leave(number);
  solve(changed);
}

void MaxMin::set_capacity(EdgeId id, Bytes per_second, std::vector<Change>& changed) {
  LARDER_ASSERT(per_second > Bytes{} && per_second.value <= capacity_max);
  edges_[id.value].capacity = per_second.value;
  begin_change(0);
  gather_users(id.value);
  for (const Gathered& each : gathered_) {
    Flow& flow = flows_[each.flow];
    const std::uint64_t bound = bound_of(paths_[each.flow]);
    for (const Hop& hop : paths_[each.flow].hops) {
      edges_[hop.edge].demand += bound;
      edges_[hop.edge].demand -= whole(flow.bound);
    }
    flow.bound = static_cast<double>(bound);
  }
  solve(changed);
}

double MaxMin::carried(EdgeId edge) const {
  double sum = 0;
  for (const User& user : edges_[edge.value].users) sum += flows_[user.flow].rate;
  return sum;
}

std::uint64_t MaxMin::bound_of(const Path& path) const {
  std::uint64_t bound = path.limit;
  for (const Hop& hop : path.hops) bound = std::min(bound, edges_[hop.edge].capacity);
  return bound;
}

void MaxMin::join(std::uint32_t number, std::uint32_t edge) {
  Path& path = paths_[number];
  std::vector<User>& users = edges_[edge].users;
  path.hops.push_back({.edge = edge, .place = static_cast<std::uint32_t>(users.size())});
  users.push_back({.flow = number, .hop = static_cast<std::uint32_t>(path.hops.size() - 1)});
}

void MaxMin::leave(std::uint32_t number) {
  Path& path = paths_[number];
  LARDER_ASSERT(path.limit != 0);
  set_bottleneck(flows_[number], nowhere);
  for (const Hop& hop : path.hops) {
    Edge& edge = edges_[hop.edge];
    edge.demand -= whole(flows_[number].bound);
    edge.users[hop.place] = edge.users.back();
    const User& moved = edge.users[hop.place];
    paths_[moved.flow].hops[moved.hop].place = hop.place;
    edge.users.pop_back();
  }
  path.hops.clear();
  path.limit = 0;
  --live_;
  flows_[number].rate = 0;
  flows_[number].bound = 0;
}

void MaxMin::set_bottleneck(Flow& flow, std::uint32_t edge) {
  if (flow.bottleneck != nowhere) --edges_[flow.bottleneck].bottleneck_of;
  if (edge != nowhere) ++edges_[edge].bottleneck_of;
  flow.bottleneck = edge;
}

// ---- whom a change concerns ---------------------------------------------------------------------

void MaxMin::begin_change(double level) {
  ++change_;
  level_ = level * (1 - level_slack);
  gathered_.clear();
}

void MaxMin::gather(std::uint32_t number) {
  Flow& flow = flows_[number];
  if (flow.gathered == change_) return;
  flow.gathered = change_;
  gathered_.push_back({.flow = number, .before = flow.rate});
}

void MaxMin::gather_users(std::uint32_t edge) {
  for (const User& user : edges_[edge].users) gather(user.flow);
}

void MaxMin::gather_part() {
  // Most of them hang together then, and no search is needed to find them.
  if (gathered_.size() * 16 >= live_) {
    for (std::uint32_t flow = 0; flow < flows_.size(); ++flow) {
      if (flows_[flow].bound > 0 && flows_[flow].rate >= level_) gather(flow);
    }
    return;
  }
  ++pass_;
  for (std::size_t next = 0; next < gathered_.size(); ++next) {
    for (const Hop& hop : paths_[gathered_[next].flow].hops) {
      Edge& edge = edges_[hop.edge];
      if (edge.seen == pass_ || (!edge.can_fill() && edge.bottleneck_of == 0)) continue;
      edge.seen = pass_;
      for (const User& user : edge.users) {
        if (flows_[user.flow].rate >= level_) gather(user.flow);
      }
    }
  }
}

void MaxMin::solve(std::vector<Change>& changed) {
  for (int pass = 1; !gathered_.empty(); ++pass) {
    share_out();
    if (pass > passes_max || !gather_wronged()) break;
    if (gathered_.size() >= many_flows) pass = passes_max;
    if (pass == passes_max) gather_part();
  }
  for (const auto& [number, before] : gathered_) {
    Flow& flow = flows_[number];
    if (std::abs(flow.rate - before) <= same_slack * before) {
      flow.rate = before;
    } else {
      changed.push_back({.flow = number, .per_second = flow.rate});
    }
  }
}

bool MaxMin::gather_wronged() {
  const std::size_t before = gathered_.size();
  for (const std::uint32_t number : touched_) {
    const Edge& edge = edges_[number];
    if (edge.at_hand == edge.users.size()) continue;
    if (edge.can_fill() || edge.bottleneck_of > 0) gather_wronged(edge, number);
  }
  return gathered_.size() > before;
}

// Those for whom, beside the new rates of the others, it does not hold that they have their
// bottleneck, or who have more here than one who has his here.
void MaxMin::gather_wronged(const Edge& edge, std::uint32_t number) {
  double sum = 0;
  double most = 0;
  double level = std::numeric_limits<double>::infinity();
  for (const User& user : edge.users) {
    const Flow& flow = flows_[user.flow];
    sum += flow.rate;
    most = std::max(most, flow.rate);
    if (flow.gathered == change_ && flow.bottleneck == number) level = std::min(level, flow.rate);
  }
  const auto capacity = static_cast<double>(edge.capacity);
  const bool full = capacity - sum <= full_slack * capacity;
  for (const User& user : edge.users) {
    const Flow& flow = flows_[user.flow];
    if (flow.gathered == change_) continue;
    const bool keeps_it =
        flow.bottleneck != number || (full && flow.rate >= most * (1 - rate_slack));
    const bool right = keeps_it && flow.rate <= level * (1 + rate_slack);
    if (!right) gather(user.flow);
  }
}

// ---- new rates for the flows at hand, beside all others -----------------------------------------

void MaxMin::share_out() {
  prepare_edges();
  while (const auto next = least_share()) fill_edge(next->edge, next->share);
  for (const Gathered& each : gathered_) {
    const Flow& flow = flows_[each.flow];
    if (!flow.settled) settle(each.flow, flow.bound, nowhere);
  }
}

// Which edge has the least to give to each of those that it still has to serve. A settled flow
// changes all of its edges, so that any order among them would be stale at once: looking at all of
// them is less work, in blocks of which those that have not changed are passed over.
std::optional<MaxMin::Candidate> MaxMin::least_share() {
  std::size_t best = 0;
  for (std::size_t number = 0; number < blocks_.size(); ++number) {
    Block& block = blocks_[number];
    if (block.changed) {
      block.changed = false;
      block.least = least_of(
          std::span<const double, block_shares>(&each_share_[number * block_shares], block_shares));
    }
    if (block.least < blocks_[best].least) best = number;
  }
  if (blocks_.empty() || blocks_[best].least == std::numeric_limits<double>::infinity()) {
    return std::nullopt;
  }
  std::size_t place = best * block_shares;
  while (each_share_[place] != blocks_[best].least) ++place;
  return Candidate{.share = blocks_[best].least, .edge = sharing_[place]};
}

void MaxMin::prepare_edges() {
  ++pass_;
  touched_.clear();
  shares_.clear();
  each_share_.clear();
  sharing_.clear();
  for (const Gathered& each : gathered_) {
    Flow& flow = flows_[each.flow];
    flow.settled = false;
    set_bottleneck(flow, nowhere);
    for (const Hop& hop : paths_[each.flow].hops) {
      Edge& edge = edges_[hop.edge];
      if (edge.seen != pass_) {
        edge.seen = pass_;
        edge.at_hand = 0;
        touched_.push_back(hop.edge);
      }
      ++edge.at_hand;
    }
  }
  for (const std::uint32_t number : touched_) {
    Edge& edge = edges_[number];
    edge.place = nowhere;
    if (!edge.can_fill()) continue;
    double taken = 0;
    if (edge.at_hand < edge.users.size()) {
      for (const User& user : edge.users) {
        const Flow& flow = flows_[user.flow];
        if (flow.gathered != change_) taken += flow.rate;
      }
    }
    edge.place = static_cast<std::uint32_t>(shares_.size());
    shares_.push_back({.left = std::max(0.0, static_cast<double>(edge.capacity) - taken),
                       .flows = static_cast<double>(edge.at_hand)});
    each_share_.push_back(shares_.back().left / shares_.back().flows);
    sharing_.push_back(number);
  }
  blocks_.assign((shares_.size() + block_shares - 1) / block_shares, Block{});
  each_share_.resize(blocks_.size() * block_shares, std::numeric_limits<double>::infinity());
}

void MaxMin::fill_edge(std::uint32_t number, double share) {
  // Those that cannot take their share leave more to the others.
  bool bounded = false;
  const auto each_unsettled = [&](auto act) {
    for (const User& user : edges_[number].users) {
      const Flow& flow = flows_[user.flow];
      if (flow.gathered == change_ && !flow.settled) act(user.flow);
    }
  };
  each_unsettled([&](std::uint32_t flow) {
    if (flows_[flow].bound > share) return;
    settle(flow, flows_[flow].bound, nowhere);
    bounded = true;
  });
  if (!bounded) each_unsettled([&](std::uint32_t flow) { settle(flow, share, number); });
}

void MaxMin::settle(std::uint32_t number, double rate, std::uint32_t bottleneck) {
  Flow& flow = flows_[number];
  flow.rate = rate;
  flow.settled = true;
  set_bottleneck(flow, bottleneck);
  for (const Hop& hop : paths_[number].hops) {
    const std::uint32_t place = edges_[hop.edge].place;
    if (place == nowhere) continue;
    Share& share = shares_[place];
    --share.flows;
    share.left = std::max(0.0, share.left - rate);
    each_share_[place] =
        share.flows > 0 ? share.left / share.flows : std::numeric_limits<double>::infinity();
    blocks_[place / block_shares].changed = true;
  }
}

// ---- the full solution --------------------------------------------------------------------------

std::vector<double> MaxMin::solve_all() const {
  std::vector<double> rates(flows_.size());
  std::vector<double> left;
  for (const Edge& edge : edges_) left.push_back(static_cast<double>(edge.capacity));
  std::vector<std::uint32_t> open;
  for (std::uint32_t number = 0; number < flows_.size(); ++number) {
    if (paths_[number].limit != 0) open.push_back(number);
  }
  while (!open.empty()) {
    std::vector<std::uint32_t> users(edges_.size());
    double level = std::numeric_limits<double>::infinity();
    for (const std::uint32_t number : open) {
      level = std::min(level, static_cast<double>(paths_[number].limit));
      for (const Hop& hop : paths_[number].hops) ++users[hop.edge];
    }
    for (std::size_t edge = 0; edge < edges_.size(); ++edge) {
      if (users[edge] > 0) level = std::min(level, left[edge] / users[edge]);
    }
    // All that cannot have more than the level.
    std::vector<std::uint32_t> more;
    std::vector<std::uint32_t> done;
    for (const std::uint32_t number : open) {
      const Path& path = paths_[number];
      const double barely = level * (1 + rate_slack);
      const bool ends = static_cast<double>(path.limit) <= barely ||
                        std::ranges::any_of(path.hops, [&](const Hop& hop) {
                          return left[hop.edge] / users[hop.edge] <= barely;
                        });
      (ends ? done : more).push_back(number);
    }
    for (const std::uint32_t number : done) {
      rates[number] = level;
      for (const Hop& hop : paths_[number].hops) {
        left[hop.edge] = std::max(0.0, left[hop.edge] - level);
      }
    }
    open = std::move(more);
  }
  return rates;
}

}  // namespace larder::sim
