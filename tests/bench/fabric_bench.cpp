#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/random.h"
#include "sim/fabric/fabric.h"
#include "tests/bench/report.h"

namespace larder::bench {
namespace {

using sim::Fabric;
using sim::MaxMin;
using sim::Move;

constexpr std::size_t paths_drawn = 4'096;

// Eight engines of eight GPUs and eight pool nodes, and paths as gets take them: from the DRAM of a
// pool node to a GPU, over near NICs.
struct Cluster {
  Topology topology = Topology::make(hardware()).value();
  std::vector<std::vector<EdgeId>> paths;

  static Hardware hardware() {
    Hardware hardware = hardware_preset("8xh800-8x200").value();
    hardware.hosts.push_back(hardware.hosts[0]);
    hardware.hosts[1].name = "pool";
    return hardware;
  }
  PartId memory(Random& random) const {
    const auto host = static_cast<std::uint32_t>(8 + random.below(8));
    return topology.parts_of(host, PartKind::dram)[random.below(2)];
  }
  PartId gpu(Random& random) const {
    return topology.parts_of(static_cast<std::uint32_t>(random.below(8)),
                             PartKind::gpu)[random.below(8)];
  }

  Cluster() {
    Random random(1);
    for (std::uint32_t drawn = 0; drawn < paths_drawn; ++drawn) {
      const PartId from = memory(random);
      const PartId to = gpu(random);
      const PartId out =
          topology.nic(topology.host_of(from), topology.nics_near(from)[random.below(4)].nic);
      const PartId in = topology.nic(topology.host_of(to), topology.nics_near(to)[0].nic);
      std::vector<EdgeId>& path = paths.emplace_back();
      topology.append_inside(from, out, path);
      topology.append_wire(out, in, drawn, path);
      topology.append_inside(in, to, path);
    }
  }
};

// With so many flows under way, one after another ends and a new one starts; `solve` is called
// after each change.
template <class Solve>
void churn(benchmark::State& state, Solve solve) {
  const Cluster cluster;
  MaxMin rates(cluster.topology.rates());
  std::vector<MaxMin::Change> changed;
  const auto flows = static_cast<std::uint32_t>(state.range(0));
  Random random(2);
  const auto start = [&](std::uint32_t flow) {
    rates.start(flow, cluster.paths[random.below(paths_drawn)], MaxMin::no_limit, changed);
  };
  for (std::uint32_t flow = 0; flow < flows; ++flow) start(flow);
  double changes = 0;
  for (auto _ : state) {
    const auto flow = static_cast<std::uint32_t>(random.below(flows));
    changed.clear();
    rates.end(flow, changed);
    solve(rates);
    start(flow);
    solve(rates);
    changes += static_cast<double>(changed.size());
  }
  state.counters["changed"] = changes / static_cast<double>(state.iterations());
}

// Everything anew by the textbook, after each change.
void full_solution(benchmark::State& state) {
  churn(state, [](const MaxMin& rates) { benchmark::DoNotOptimize(rates.solve_all()); });
  report_rate(state, "flows/s", static_cast<double>(state.iterations()));
}
BENCHMARK(full_solution)->Arg(64)->Arg(512);

void what_changed(benchmark::State& state) {
  churn(state, [](const MaxMin&) {});
  report_rate(state, "flows/s", static_cast<double>(state.iterations()), {.name = "full_solution"});
}
BENCHMARK(what_changed)->Arg(64)->Arg(512);
// More than the textbook's could bear.
void what_changed_of_many(benchmark::State& state) {
  churn(state, [](const MaxMin&) {});
  report_rate(state, "flows/s", static_cast<double>(state.iterations()));
}
BENCHMARK(what_changed_of_many)->Arg(4'096);

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
                              .length = Bytes{(1 + owner.random.below(64)) * (64 << 10)}}),
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
  Fabric fabric(kernel, cluster.topology, {});
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
  report_rate(state, "flows/s", stripes);
}
BENCHMARK(moves)->Arg(64)->Arg(512);

}  // namespace
}  // namespace larder::bench
