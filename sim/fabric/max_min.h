#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/base/bytes.h"
#include "core/topology/topology.h"

namespace larder::sim {

// The rates of flows that share the edges of a graph: max-min fair, that is, no flow can be given
// more without taking from one that has no more. Each flow then has an edge that is full and on
// which no flow has more than it (its bottleneck), or what limits it alone; and where that holds
// for all, the rates are the max-min fair ones, which are unique.
//
// A change re-solves only what it touches. The flows at hand (the new one and those that have more
// than its least share; or those that had their bottleneck on an edge of the one that ends) are
// given new rates beside all others, which stand; then the sentence above is checked on the edges
// of those flows, and whom it fails for joins them, once more. A change that goes further than that
// takes the part of the graph that hangs together by full edges, or simply all flows where those at
// hand are many, since to follow it step by step would be more work. But it takes no flow that has
// less than the one that comes or goes: if all rates rise together from zero, each until an edge of
// it is full, they rise the same with that flow and without it until they reach its rate. Edges
// that could carry all their flows at their limits are never full, and nobody's bottleneck.
//
// Flows go by small numbers that the caller gives and uses again. Rates are doubles: the same calls
// give the same rates to the bit, and those of solve_all() but for rounding (1e-9).
class MaxMin {
 public:
  struct Change {
    std::uint32_t flow = 0;
    double per_second = 0;
  };
  static constexpr Bytes no_limit{std::numeric_limits<std::uint64_t>::max()};

  // What each edge can carry, by number. Precondition, of all: above zero, at most 10^15 a second.
  explicit MaxMin(std::span<const Bytes> per_second);
  // One more edge, by the next number. Precondition: likewise.
  EdgeId add_edge(Bytes per_second);

  // A flow on all edges of `path` (twice on one that is there twice), which moves at `limit` at
  // most. Appends each flow whose rate is another one now, the new one among them, in an order that
  // depends on the calls alone.
  // Precondition: the number is free; the path is not empty or there is a limit, which is not zero.
  void start(std::uint32_t flow, std::span<const EdgeId> path, Bytes limit,
             std::vector<Change>& changed);
  void end(std::uint32_t flow, std::vector<Change>& changed);
  // From now on the edge carries this.
  void set_capacity(EdgeId edge, Bytes per_second, std::vector<Change>& changed);

  double rate(std::uint32_t flow) const { return flows_[flow].rate; }
  // Of all flows on it.
  double carried(EdgeId edge) const;
  Bytes capacity(EdgeId edge) const { return {edges_[edge.value].capacity}; }

  // The rates by flow number, from nothing and by the textbook; zero for numbers that are free. For
  // tests, which hold it against rate(). O(edges times hops of all flows).
  std::vector<double> solve_all() const;

 private:
  __extension__ using Wide = unsigned __int128;
  static constexpr std::uint32_t nowhere = ~std::uint32_t{0};

  struct User {
    std::uint32_t flow;
    std::uint32_t hop;  // of that flow
  };
  struct Edge {
    Wide demand = 0;  // of all its flows at their bounds
    std::uint64_t capacity = 0;
    std::uint32_t bottleneck_of = 0;  // of so many flows
    std::uint32_t at_hand = 0;        // while solving: hops of the flows at hand
    std::uint32_t place = nowhere;    // while solving: in shares_, if it could fill
    std::uint32_t seen = 0;           // the pass that looked at it last
    std::vector<User> users;

    bool can_fill() const { return demand > capacity; }
  };
  // What every pass reads of flows, apart from what only few changes do: so it stays in the cache.
  struct Flow {
    double rate = 0;
    double bound = 0;  // its limit and that of its narrowest edge; zero: the number is free
    std::uint32_t bottleneck = nowhere;
    std::uint32_t gathered = 0;  // the change that gathered it last
    bool settled = false;        // while solving
  };
  struct Hop {
    std::uint32_t edge;
    std::uint32_t place;  // in the edge's users
  };
  struct Path {
    std::uint64_t limit = 0;  // the flow's own; zero: the number is free
    boost::container::small_vector<Hop, 14> hops;
  };
  struct Gathered {
    std::uint32_t flow;
    double before;  // its rate
  };
  // What an edge has left for the hops of flows that have no new rate yet.
  struct Share {
    double left;
    double flows;
  };
  struct Block {  // of shares
    double least = 0;
    bool changed = true;
  };
  static_assert(sizeof(Edge) == 64);
  struct Candidate {
    double share;
    std::uint32_t edge;
  };

  std::uint64_t bound_of(const Path& path) const;
  void join(std::uint32_t flow, std::uint32_t edge);
  void leave(std::uint32_t flow);
  void set_bottleneck(Flow& flow, std::uint32_t edge);

  void begin_change(double level);
  void gather(std::uint32_t flow);
  void gather_users(std::uint32_t edge);
  void gather_part();
  void solve(std::vector<Change>& changed);
  void share_out();
  void prepare_edges();
  std::optional<Candidate> least_share();
  void fill_edge(std::uint32_t edge, double share);
  void settle(std::uint32_t flow, double rate, std::uint32_t edge);
  bool gather_wronged();
  void gather_wronged(const Edge& edge, std::uint32_t number);

  std::vector<Edge> edges_;
  std::vector<Flow> flows_;
  std::vector<Path> paths_;  // of flows
  std::size_t live_ = 0;     // flows
  double level_ = 0;         // whoever has less keeps it in this change
  std::uint32_t change_ = 0;
  std::uint32_t pass_ = 0;
  std::vector<Gathered> gathered_;      // the flows at hand
  std::vector<std::uint32_t> touched_;  // their edges
  std::vector<Share> shares_;           // of those that could fill, while solving
  std::vector<double> each_share_;      // of them for each flow; endless where none is left
  std::vector<std::uint32_t> sharing_;  // their edges
  std::vector<Block> blocks_;
};

}  // namespace larder::sim
