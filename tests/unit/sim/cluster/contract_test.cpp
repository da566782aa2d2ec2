#include "sim/cluster/world.h"
#include "tests/contract/ends.h"
#include "tests/contract/moves_bytes.h"

namespace larder::sim {
namespace {

using namespace std::chrono_literals;

// A client and a node on hosts of their own, in virtual time.
class SimulatedWorld final : public contract::World, Observer {
 public:
  explicit SimulatedWorld(bool one_sided)
      : world_({.transport = {.one_sided = one_sided}}, *this),
        master_(world_.add_master(world_.add_host("m"))),
        node_(world_.add_node(world_.add_host("n"), master_, {.segments = {128_MiB}})),
        client_(world_.add_client(world_.add_host("c"), master_)) {
    world_.run_for(15s);  // a recovery time, and then some
    node_.for_each_memory([&](SegmentId id, const TrackedMemory& memory) {
      segment_ = {.id = id, .size = memory.size(), .endpoint = node_.endpoint()};
    });
  }

  Transport& transport() override { return client_.transport(); }
  const SegmentDescription& segment() const override { return segment_; }
  Epoch epoch() const override { return node_.machine()->status(node_.now()).epoch; }
  Time now() const override { return client_.now(); }
  bool run_until(const std::function<bool()>& done, Duration time) override {
    const Instant end = later(world_.kernel().now(), time);
    while (!done() && world_.kernel().next_due() <= end && world_.kernel().step()) {
    }
    return done();
  }
  void retire(const ExtentName& extent) override {
    const NodeStatus known = status();
    node_.machine()->command(node_.now(),
                             {.incarnation = known.incarnation,
                              .epoch = known.epoch,
                              .instance = known.instance,
                              .body = RetireExtents{{extent}}},
                             node_.effects());
    node_.carry_out();
  }
  NodeStatus status() override { return node_.machine()->status(node_.now()); }
  std::byte& stored(Bytes at) override { return node_.memory(segment_.id)->bytes(at, 1_B).front(); }

 private:
  void violation(const std::string& sentence) override { ADD_FAILURE() << sentence; }

  sim::World world_;
  MasterProcess& master_;
  NodeProcess& node_;
  ClientProcess& client_;
  SegmentDescription segment_;
};

template <bool one_sided>
std::unique_ptr<contract::World> make() {
  return std::make_unique<SimulatedWorld>(one_sided);
}

}  // namespace
}  // namespace larder::sim

namespace larder::contract {

INSTANTIATE_TEST_SUITE_P(
    Simulated, TransportContract,
    ::testing::Values(Kind{.name = "tcp", .make = sim::make<false>},
                      Kind{.name = "one_sided", .make = sim::make<true>, .node_is_asked = false}),
    [](const auto& info) { return info.param.name; });

}  // namespace larder::contract
