#include "sim/fabric/max_min.h"

#include <algorithm>
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
// After so many passes the rest that may be concerned is taken at once.
constexpr int passes_max = 8;

constexpr auto later_candidate = [](const auto& a, const auto& b) {
  return a.share != b.share ? a.share > b.share : a.edge > b.edge;
};

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
  if (number >= flows_.size()) flows_.resize(number + 1);
  Flow& flow = flows_[number];
  LARDER_ASSERT(flow.limit == 0 && limit > Bytes{} && !(path.empty() && limit == no_limit));
  flow.limit = limit.value;
  for (const EdgeId edge : path) join(number, edge.value);
  flow.bound = bound_of(flow);
  for (const Hop& hop : flow.hops) edges_[hop.edge].demand += flow.bound;

  begin_change();
  gather(number);
  // It will get its equal part of some edge, or more: who has less has nothing to fear from it.
  auto least = static_cast<double>(flow.bound);
  for (const Hop& hop : flow.hops) {
    const Edge& edge = edges_[hop.edge];
    const double part = static_cast<double>(edge.capacity) / static_cast<double>(edge.users.size());
    if (edge.can_fill()) least = std::min(least, part);
  }
  for (const Hop& hop : flow.hops) {
    const Edge& edge = edges_[hop.edge];
    if (!edge.can_fill()) continue;
    for (const User& user : edge.users) {
      if (flows_[user.flow].rate > least) gather(user.flow);
    }
  }
  solve(changed);
}

void MaxMin::end(std::uint32_t number, std::vector<Change>& changed) {
  begin_change();
  for (const Hop& hop : flows_[number].hops) {
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
  begin_change();
  gather_users(id.value);
  for (const std::uint32_t number : gathered_) {
    Flow& flow = flows_[number];
    const std::uint64_t bound = bound_of(flow);
    for (const Hop& hop : flow.hops) {
      edges_[hop.edge].demand += bound;
      edges_[hop.edge].demand -= flow.bound;
    }
    flow.bound = bound;
  }
  solve(changed);
}

double MaxMin::carried(EdgeId edge) const {
  double sum = 0;
  for (const User& user : edges_[edge.value].users) sum += flows_[user.flow].rate;
  return sum;
}

std::uint64_t MaxMin::bound_of(const Flow& flow) const {
  std::uint64_t bound = flow.limit;
  for (const Hop& hop : flow.hops) bound = std::min(bound, edges_[hop.edge].capacity);
  return bound;
}

void MaxMin::join(std::uint32_t number, std::uint32_t edge) {
  Flow& flow = flows_[number];
  std::vector<User>& users = edges_[edge].users;
  flow.hops.push_back({.edge = edge, .place = static_cast<std::uint32_t>(users.size())});
  users.push_back({.flow = number, .hop = static_cast<std::uint32_t>(flow.hops.size() - 1)});
}

void MaxMin::leave(std::uint32_t number) {
  Flow& flow = flows_[number];
  LARDER_ASSERT(flow.limit != 0);
  set_bottleneck(flow, nowhere);
  for (const Hop& hop : flow.hops) {
    Edge& edge = edges_[hop.edge];
    edge.demand -= flow.bound;
    edge.users[hop.place] = edge.users.back();
    const User& moved = edge.users[hop.place];
    flows_[moved.flow].hops[moved.hop].place = hop.place;
    edge.users.pop_back();
  }
  flow.hops.clear();
  flow.limit = 0;
  flow.rate = 0;
}

void MaxMin::set_bottleneck(Flow& flow, std::uint32_t edge) {
  if (flow.bottleneck != nowhere) --edges_[flow.bottleneck].bottleneck_of;
  if (edge != nowhere) ++edges_[edge].bottleneck_of;
  flow.bottleneck = edge;
}

// ---- whom a change concerns ---------------------------------------------------------------------

void MaxMin::begin_change() {
  ++change_;
  gathered_.clear();
}

void MaxMin::gather(std::uint32_t number) {
  Flow& flow = flows_[number];
  if (flow.gathered == change_) return;
  flow.gathered = change_;
  flow.before = flow.rate;
  gathered_.push_back(number);
}

void MaxMin::gather_users(std::uint32_t edge) {
  for (const User& user : edges_[edge].users) gather(user.flow);
}

void MaxMin::gather_part() {
  ++pass_;
  for (std::size_t next = 0; next < gathered_.size(); ++next) {
    for (const Hop& hop : flows_[gathered_[next]].hops) {
      Edge& edge = edges_[hop.edge];
      if (edge.seen == pass_ || (!edge.can_fill() && edge.bottleneck_of == 0)) continue;
      edge.seen = pass_;
      gather_users(hop.edge);
    }
  }
}

void MaxMin::solve(std::vector<Change>& changed) {
  for (int pass = 1; !gathered_.empty(); ++pass) {
    share_out();
    if (pass > passes_max || !gather_wronged()) break;
    if (pass == passes_max) gather_part();
  }
  for (const std::uint32_t number : gathered_) {
    Flow& flow = flows_[number];
    if (std::abs(flow.rate - flow.before) <= same_slack * flow.before) {
      flow.rate = flow.before;
    } else {
      changed.push_back({.flow = number, .per_second = flow.rate});
    }
  }
}

bool MaxMin::gather_wronged() {
  const std::size_t before = gathered_.size();
  for (const std::uint32_t number : touched_) {
    const Edge& edge = edges_[number];
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
  bool others = false;
  for (const User& user : edge.users) {
    const Flow& flow = flows_[user.flow];
    sum += flow.rate;
    most = std::max(most, flow.rate);
    if (flow.gathered != change_) {
      others = true;
    } else if (flow.bottleneck == number) {
      level = std::min(level, flow.rate);
    }
  }
  if (!others) return;
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
  while (!candidates_.empty()) {
    std::ranges::pop_heap(candidates_, later_candidate);
    const auto [share, number] = candidates_.back();
    candidates_.pop_back();
    Edge& edge = edges_[number];
    if (edge.unsettled == 0) continue;
    // Shares only grow while others are settled with less: an old one is looked at again in turn.
    if (edge.share() <= share) fill_edge(number, edge.share());
    if (edge.unsettled == 0) continue;
    candidates_.push_back({.share = std::max(share, edge.share()), .edge = number});
    std::ranges::push_heap(candidates_, later_candidate);
  }
  for (const std::uint32_t number : gathered_) {
    Flow& flow = flows_[number];
    if (!flow.settled) settle(flow, static_cast<double>(flow.bound), nowhere);
  }
}

void MaxMin::prepare_edges() {
  ++pass_;
  touched_.clear();
  candidates_.clear();
  for (const std::uint32_t number : gathered_) {
    Flow& flow = flows_[number];
    flow.settled = false;
    set_bottleneck(flow, nowhere);
    for (const Hop& hop : flow.hops) {
      Edge& edge = edges_[hop.edge];
      if (edge.seen != pass_) {
        edge.seen = pass_;
        edge.unsettled = 0;
        touched_.push_back(hop.edge);
      }
      ++edge.unsettled;
    }
  }
  for (const std::uint32_t number : touched_) {
    Edge& edge = edges_[number];
    if (!edge.can_fill()) continue;
    double taken = 0;
    if (edge.unsettled < edge.users.size()) {
      for (const User& user : edge.users) {
        const Flow& flow = flows_[user.flow];
        if (flow.gathered != change_) taken += flow.rate;
      }
    }
    edge.left = std::max(0.0, static_cast<double>(edge.capacity) - taken);
    candidates_.push_back({.share = edge.share(), .edge = number});
  }
  std::ranges::make_heap(candidates_, later_candidate);
}

void MaxMin::fill_edge(std::uint32_t number, double share) {
  // Those that cannot take their share leave more to the others.
  bool bounded = false;
  const auto each_unsettled = [&](auto act) {
    for (const User& user : edges_[number].users) {
      Flow& flow = flows_[user.flow];
      if (flow.gathered == change_ && !flow.settled) act(flow);
    }
  };
  each_unsettled([&](Flow& flow) {
    const auto bound = static_cast<double>(flow.bound);
    if (bound > share) return;
    settle(flow, bound, nowhere);
    bounded = true;
  });
  if (!bounded) each_unsettled([&](Flow& flow) { settle(flow, share, number); });
}

void MaxMin::settle(Flow& flow, double rate, std::uint32_t bottleneck) {
  flow.rate = rate;
  flow.settled = true;
  set_bottleneck(flow, bottleneck);
  for (const Hop& hop : flow.hops) {
    Edge& edge = edges_[hop.edge];
    edge.left = std::max(0.0, edge.left - rate);
    --edge.unsettled;
  }
}

// ---- the full solution --------------------------------------------------------------------------

std::vector<double> MaxMin::solve_all() const {
  std::vector<double> rates(flows_.size());
  std::vector<double> left;
  for (const Edge& edge : edges_) left.push_back(static_cast<double>(edge.capacity));
  std::vector<std::uint32_t> open;
  for (std::uint32_t number = 0; number < flows_.size(); ++number) {
    if (flows_[number].limit != 0) open.push_back(number);
  }
  while (!open.empty()) {
    std::vector<std::uint32_t> users(edges_.size());
    double level = std::numeric_limits<double>::infinity();
    for (const std::uint32_t number : open) {
      level = std::min(level, static_cast<double>(flows_[number].limit));
      for (const Hop& hop : flows_[number].hops) ++users[hop.edge];
    }
    for (std::size_t edge = 0; edge < edges_.size(); ++edge) {
      if (users[edge] > 0) level = std::min(level, left[edge] / users[edge]);
    }
    // All that cannot have more than the level.
    std::vector<std::uint32_t> more;
    std::vector<std::uint32_t> done;
    for (const std::uint32_t number : open) {
      const Flow& flow = flows_[number];
      const double barely = level * (1 + rate_slack);
      const bool ends = static_cast<double>(flow.limit) <= barely ||
                        std::ranges::any_of(flow.hops, [&](const Hop& hop) {
                          return left[hop.edge] / users[hop.edge] <= barely;
                        });
      (ends ? done : more).push_back(number);
    }
    for (const std::uint32_t number : done) {
      rates[number] = level;
      for (const Hop& hop : flows_[number].hops) {
        left[hop.edge] = std::max(0.0, left[hop.edge] - level);
      }
    }
    open = std::move(more);
  }
  return rates;
}

}  // namespace larder::sim
