#include <set>

#include "core/protocol/extent_shape.h"
#include "tests/unit/core/master/harness.h"

namespace larder::testing {
namespace {

using namespace std::chrono_literals;

TEST(Status, CountersEqualARecount) {
  MasterHarness h;
  for (int n = 0; n < 3; ++n) h.join({.name = "n" + std::to_string(n)});
  h.open(alice);
  h.kept_alive = {alice};
  std::map<std::string, Bytes> stored;
  Bytes unfinished;
  std::uint64_t puts = 0;
  std::uint64_t refused = 0;
  for (int i = 0; i < 30; ++i) {
    const std::string key = "k" + std::to_string(i);
    const Bytes size{1000u + 100u * static_cast<unsigned>(i)};
    h.put(alice, key, size);
    stored[key] = extent_shape(size).length;
    ++puts;
  }
  for (int i = 0; i < 5; ++i) {
    h.start(alice, "open" + std::to_string(i), 500_B);
    unfinished += extent_shape(500_B).length;
    ++puts;
  }
  for (int i = 0; i < 4; ++i) {
    h.start(alice, "k" + std::to_string(i), 500_B);
    ++refused;
  }
  for (auto& [name, node] : h.nodes) node.confirms = false;
  Bytes quarantined;
  for (int i = 0; i < 7; ++i) {
    const std::string key = "k" + std::to_string(i);
    h.remove(alice, key);
    quarantined += stored[key];
    stored.erase(key);
  }
  for (int i = 0; i < 10; ++i) h.get(alice, "k" + std::to_string(i));

  Bytes used = unfinished;
  for (const auto& [key, bytes] : stored) used += bytes;
  const StatusReport status = h.status();
  EXPECT_EQ(status.epoch, Epoch{100});
  EXPECT_EQ(status.objects, stored.size());
  EXPECT_EQ(status.unfinished_puts, 5u);
  EXPECT_EQ(status.sessions, 1u);
  EXPECT_EQ(status.capacity, 3_MiB);
  EXPECT_EQ(status.used, used);
  EXPECT_EQ(status.quarantined, quarantined);
  EXPECT_EQ(status.free, status.capacity - used - quarantined);
  EXPECT_EQ(status.puts, puts);
  EXPECT_EQ(status.gets, 10u);
  EXPECT_EQ(status.hits, 3u);
  ASSERT_EQ(status.refusals.size(), 1u);
  EXPECT_EQ(status.refusals[0],
            (std::pair<std::string, std::uint64_t>{"OBJECT_ALREADY_EXISTS", refused}));
  Bytes of_nodes;
  std::uint64_t extents = 0;
  for (const StatusReport::Node& node : status.nodes) {
    EXPECT_EQ(node.state, "shown");
    of_nodes += node.used;
    extents += node.objects;
  }
  EXPECT_EQ(of_nodes, used);
  EXPECT_EQ(extents, stored.size() + 5 + 7);
  EXPECT_EQ(h.value<StatusReport>(h.call(alice, GetStatus{})).used, used);
}

TEST(Status, ObjectEventsTellEveryChangeOfWhatIsStored) {
  MasterConfig config = MasterHarness::small_nodes();
  config.object_events = true;
  MasterHarness h(config);
  h.join();
  h.open(alice);
  h.kept_alive = {alice};
  std::set<std::string> told;
  const auto update = [&] {
    for (const ObjectEvent& event : h.events) {
      EXPECT_EQ(event.tenant, "t");
      if (event.kind == ObjectEvent::Kind::stored) {
        EXPECT_TRUE(told.insert(event.key).second) << event.key << " is stored twice";
      } else {
        EXPECT_EQ(told.erase(event.key), 1u) << event.key << " goes without having come";
      }
    }
    h.events.clear();
    for (int i = 0; i < 200; ++i) {
      const std::string key = "k" + std::to_string(i);
      EXPECT_EQ(told.contains(key), h.readable(alice, key)) << key;
    }
    EXPECT_EQ(told.size(), h.status().objects);
  };
  for (int i = 0; i < 90; ++i) h.put(alice, "k" + std::to_string(i), 10_KiB);
  update();
  h.pass(2s);  // Exists leases
  h.put(alice, "k0", 10_KiB, true);
  h.remove(alice, "k1");
  h.put_item(alice, {.key = "k2x", .size = 64_B, .time_to_live = 1s});
  h.pass(2s);
  update();
  h.pass(2s);
  for (int i = 100; i < 130; ++i) {
    h.put(alice, "k" + std::to_string(i), 10_KiB);
    h.tick();
  }
  update();
  h.disconnect("n0");
  h.pass(31s);
  update();
  EXPECT_TRUE(told.empty());
}

}  // namespace
}  // namespace larder::testing
