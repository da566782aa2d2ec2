// Flows of a cluster in virtual time: ours, and SimGrid's where ./dev bench has put it beside the
// build. Both move the same sizes between the same memories over the same links, so many at a time,
// each flow as one stripe; ours also chooses NICs and counts their messages.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/fabric/fabric.h"
#include "tests/bench/fabric_cluster.h"
#include "tests/bench/report.h"

#ifdef LARDER_SIMGRID
#include <simgrid/s4u.hpp>
#include <string>
#endif

namespace larder::bench {
namespace {

using sim::Fabric;
using sim::Move;

Bytes drawn_length(Random& random) { return Bytes{(1 + random.below(64)) * (64 << 10)}; }

#ifdef LARDER_SIMGRID
constexpr Reference reference{.name = "simgrid"};

// SimGrid knows routes between hosts, and has one engine for a process: each drawn path is the way
// from a host of its own to a common sink.
class SimGrid {
 public:
  static SimGrid& get() {
    static auto& only = *new SimGrid;
    return only;
  }

  // So many flows, one after the other, until stop().
  void start(std::int64_t flows) {
    stopping_ = false;
    for (std::int64_t flow = 0; flow < flows; ++flow) {
      simgrid::s4u::Actor::create("flow", sink_, [this, flow] {
        Random random(static_cast<std::uint64_t>(flow));
        while (!stopping_) {
          simgrid::s4u::Comm::sendto(sources_[random.below(sources_.size())], sink_,
                                     drawn_length(random).value);
          ++ended_;
        }
      });
    }
  }
  void run(double seconds) { engine_.run_until(simgrid::s4u::Engine::get_clock() + seconds); }
  void stop() {
    stopping_ = true;
    run(1);
  }
  std::uint64_t ended() const { return ended_; }

 private:
  SimGrid() : engine_(&arguments_, argument_list_) {
    using simgrid::s4u::Engine;
    using simgrid::s4u::LinkInRoute;
    // Fair shares and nothing of TCP, as our flows have them; solved only where something changed.
    for (const char* setting :
         {"network/model:CM02", "network/optim:Lazy", "network/latency-factor:1",
          "network/bandwidth-factor:1", "network/weight-S:0", "network/TCP-gamma:0",
          "network/crosstraffic:0"}) {
      Engine::set_config(setting);
    }
    const Cluster cluster;
    auto* zone = simgrid::s4u::create_star_zone("cluster");
    std::vector<simgrid::s4u::Link*> links;
    for (std::uint32_t edge = 0; edge < cluster.topology.edges(); ++edge) {
      links.push_back(
          zone->create_link("edge" + std::to_string(edge),
                            static_cast<double>(cluster.topology.per_second(EdgeId{edge}).value)));
      links.back()->set_latency(
          std::chrono::duration<double>(cluster.topology.latency(EdgeId{edge})).count());
    }
    for (const std::vector<EdgeId>& path : cluster.paths) {
      sources_.push_back(zone->create_host("path" + std::to_string(sources_.size()), 1e9));
      std::vector<LinkInRoute> route;
      for (const EdgeId edge : path) route.emplace_back(links[edge.value]);
      zone->add_route(sources_.back()->get_netpoint(), nullptr, nullptr, nullptr, route, false);
      zone->add_route(nullptr, sources_.back()->get_netpoint(), nullptr, nullptr, {}, false);
    }
    sink_ = zone->create_host("sink", 1e9);
    zone->add_route(nullptr, sink_->get_netpoint(), nullptr, nullptr, {}, false);
    zone->add_route(sink_->get_netpoint(), nullptr, nullptr, nullptr, {}, false);
    zone->seal();
  }

  int arguments_ = 1;
  char name_[8] = "simgrid";
  char* argument_list_[2] = {name_, nullptr};
  simgrid::s4u::Engine engine_;
  std::vector<simgrid::s4u::Host*> sources_;
  simgrid::s4u::Host* sink_ = nullptr;
  bool stopping_ = false;
  std::uint64_t ended_ = 0;
};

void simgrid(benchmark::State& state) {
  SimGrid& world = SimGrid::get();
  world.start(state.range(0));
  world.run(0.001);
  const std::uint64_t before = world.ended();
  for (auto _ : state) world.run(0.001);
  const auto flows = static_cast<double>(world.ended() - before);
  world.stop();
  report_rate(state, "flows/s", flows);
}
BENCHMARK(simgrid)->Arg(64)->Arg(512);
#else
constexpr Reference reference{};
#endif

// Moves in virtual time, with choice of NICs, stripes and fixed costs: so many are under way, and
// each that ends is followed by another one.
void moves(benchmark::State& state) {
  class Endless final : public Move {
   public:
    struct Owner {
      const Cluster& cluster;
      Fabric& fabric;
      Random random{3};
      std::vector<std::unique_ptr<Endless>> moves;
    };
    Endless(Owner& owner, std::size_t number)
        : Move(owner.fabric, {.from = owner.cluster.memory(owner.random),
                              .to = owner.cluster.gpu(owner.random),
                              .length = drawn_length(owner.random)}),
          owner_(owner),
          number_(number) {}

   private:
    void finish() override {
      Owner& owner = owner_;
      auto& place = owner.moves[number_];
      const std::unique_ptr<Endless> ended = std::move(place);
      place = std::make_unique<Endless>(owner, number_);
      place->start();
    }
    Owner& owner_;
    std::size_t number_;
  };

  const Cluster cluster;
  sim::Kernel kernel(1);
  Fabric fabric(kernel, cluster.topology, {.stripes_max = 1});
  Endless::Owner owner{.cluster = cluster, .fabric = fabric, .moves = {}};
  owner.moves.resize(static_cast<std::size_t>(state.range(0)));
  for (std::size_t number = 0; number < owner.moves.size(); ++number) {
    owner.moves[number] = std::make_unique<Endless>(owner, number);
    owner.moves[number]->start();
  }
  const std::uint64_t before = fabric.counters().stripes;
  for (auto _ : state) kernel.run(1'000);
  const auto stripes = static_cast<double>(fabric.counters().stripes - before);
  state.counters["changed"] = static_cast<double>(fabric.counters().rate_changes) / stripes;
  owner.moves.clear();
  report_rate(state, "flows/s", stripes, reference);
}
BENCHMARK(moves)->Arg(64)->Arg(512);

}  // namespace
}  // namespace larder::bench
