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

// Every object is counted where it is: on shown nodes, or as one that only hidden ones have.
TEST(Status, GaugesAddUpWhileANodeIsHidden) {
  MasterHarness h;
  h.join({.name = "n0"});
  h.join({.name = "n1"});
  h.open(alice);
  h.kept_alive = {alice};
  for (int i = 0; i < 20; ++i) h.put(alice, "k" + std::to_string(i));
  const PutGrant twice = h.value<PutGrant>(h.start(alice, "twice", 1000_B, false, 2));
  ASSERT_TRUE(h.answer(h.end(alice, "twice", twice.put_id, 3)).has_value());
  const StatusReport before = h.status();
  EXPECT_EQ(before.hidden_objects, 0u);
  EXPECT_EQ(before.hidden_capacity, 0_B);
  EXPECT_EQ(before.nodes[0].only_here + before.nodes[1].only_here, 20u);
  EXPECT_GT(before.nodes[0].only_here, 0u);
  h.disconnect("n0");
  h.pass(2s);
  const StatusReport hidden = h.status();
  std::uint64_t unreadable = 0;
  for (int i = 0; i < 20; ++i) unreadable += h.readable(alice, "k" + std::to_string(i)) ? 0 : 1;
  EXPECT_EQ(hidden.objects, 21u);
  EXPECT_EQ(hidden.hidden_objects, unreadable);
  EXPECT_EQ(hidden.hidden_objects, before.nodes[0].only_here);
  EXPECT_EQ(hidden.capacity + hidden.hidden_capacity, before.capacity);
  EXPECT_EQ(hidden.used + hidden.hidden_used, before.used);
  EXPECT_EQ(hidden.nodes[0].state, "hidden");
  EXPECT_EQ(hidden.nodes[1].state, "shown");
  EXPECT_LT(hidden.nodes[0].in_state, 2s);
  EXPECT_GT(hidden.nodes[1].in_state, 1s);
}

TEST(Status, NamesTheNodesThatWereLostAndWhatWentWithThem) {
  MasterHarness h;
  h.join({.name = "n0"});
  h.join({.name = "n1"});
  h.open(alice);
  h.kept_alive = {alice};
  for (int i = 0; i < 20; ++i) h.put(alice, "k" + std::to_string(i));
  const std::uint64_t only_here = h.status().nodes[0].only_here;
  h.disconnect("n0");
  h.pass(31s);
  const StatusReport status = h.status();
  ASSERT_EQ(status.lost_nodes.size(), 1u);
  const StatusReport::LostNode& lost = status.lost_nodes[0];
  EXPECT_EQ(lost.name, "n0");
  EXPECT_EQ(lost.endpoint, "n0:1");
  EXPECT_NE(lost.why.find("silent for 30"), std::string::npos) << lost.why;
  EXPECT_EQ(lost.objects, only_here);
  EXPECT_EQ(lost.bytes, 1000_B * only_here);
  EXPECT_TRUE(lost.cleared);
  EXPECT_EQ(status.objects, 20 - only_here);
  for (const auto& [why, count] : status.gone) {
    EXPECT_EQ(count, why == "lost with a node" ? only_here : 0u) << why;
  }
  std::vector<NodeEvent::Kind> kinds;
  for (const NodeEvent& event : h.node_events) {
    if (event.name == "n0") kinds.push_back(event.kind);
  }
  using Kind = NodeEvent::Kind;
  EXPECT_EQ(kinds, (std::vector<Kind>{Kind::registered, Kind::shown, Kind::hidden, Kind::lost}));
}

TEST(Status, OfThoseThatAreGoneCountsEachReason) {
  MasterHarness h;
  h.join({.size = 1_MiB});
  h.open(alice);
  h.kept_alive = {alice};
  h.put(alice, "removed");
  h.remove(alice, "removed");
  h.put(alice, "replaced");
  h.put(alice, "replaced", 1000_B, true);
  ASSERT_TRUE(h.put_item(alice, {.key = "expires", .size = 10_B, .time_to_live = 1s}));
  h.pass(2s);
  for (int i = 0; i < 80; ++i) {
    h.put(alice, "k" + std::to_string(i), 20'000_B);
    h.tick();
  }
  const StatusReport status = h.status();
  const std::map<std::string, std::uint64_t> gone(status.gone.begin(), status.gone.end());
  EXPECT_EQ(gone.at("removed"), 1u);
  EXPECT_EQ(gone.at("replaced"), 1u);
  EXPECT_EQ(gone.at("expired"), 1u);
  EXPECT_EQ(gone.at("evicted"), status.evicted_objects);
  EXPECT_GT(status.evicted_objects, 5u);
}

TEST(Status, AGetThatAsksAgainIsCountedOnce) {
  MasterHarness h;
  h.join();
  h.open(alice);
  h.put(alice, "k");
  h.get(alice, "k");
  h.call(alice, GetReplicaList{.items = {{"k"}, {"none"}}, .again = true});
  h.get(alice, "none");
  EXPECT_EQ(h.status().gets, 2u);
  EXPECT_EQ(h.status().hits, 1u);
}

TEST(Status, AMissOfWhatIsOnSilentNodesNamesThem) {
  MasterHarness h;
  h.join({.name = "n7"});
  h.open(alice);
  h.kept_alive = {alice};
  h.put(alice, "k");
  h.disconnect("n7");
  h.pass(2s);
  const Ticket ticket = h.get(alice, "k");
  EXPECT_EQ(h.error(ticket), ErrorCode::object_not_found);
  const std::string message = h.answer(ticket).error().message();
  EXPECT_NE(message.find("n7 (hidden, heard of 2000 ms ago)"), std::string::npos) << message;
  EXPECT_EQ(h.answer(h.get(alice, "none")).error().facts().detail, "");
}

TEST(StatementC10, TheStagesOfClientsAndNodesArriveAtTheMaster) {
  MasterHarness h;
  h.join({.name = "n0"});
  h.open(alice);
  StageTimes client;
  for (int i = 1; i <= 100; ++i) client.add(ClientStage::transfer, i * 1ms);
  client.add(ClientStage::lookup, 5us);
  h.call(alice, KeepAlive{.stages = client.take_unsent()});
  EXPECT_TRUE(client.take_unsent().empty());
  client.add(ClientStage::lookup, 5us);
  h.call(alice, KeepAlive{.stages = client.take_unsent()});
  StageTimes node;
  node.add(NodeStage::read, 2ms);
  h.send({.body = Heartbeat{.incarnation = h.nodes["n0"].incarnation,
                            .registration = h.nodes["n0"].registration,
                            .stages = node.take_unsent()}});
  std::map<std::string, StatusReport::Stage> stages;
  for (const StatusReport::Stage& stage : h.status().stages) {
    stages[stage.where + " " + stage.stage] = stage;
  }
  ASSERT_EQ(stages.size(), 3u);
  EXPECT_EQ(stages.at("clients lookup").count, 2u);
  const StatusReport::Stage& transfer = stages.at("clients transfer");
  EXPECT_EQ(transfer.count, 100u);
  EXPECT_LE(std::chrono::abs(transfer.p50 - 50ms), Duration(50ms) / 32);
  EXPECT_LE(std::chrono::abs(transfer.p99 - 99ms), Duration(99ms) / 32);
  EXPECT_LE(std::chrono::abs(transfer.longest - 100ms), Duration(100ms) / 32);
  EXPECT_EQ(stages.at("node n0 read").count, 1u);
  EXPECT_EQ(h.master().client_stages().all()[2].count(), 100u);
  ASSERT_NE(h.master().node_stages("n0"), nullptr);
  EXPECT_EQ(h.master().node_stages("n1"), nullptr);
}

// They steer nothing.
TEST(StatementC10, StagesAreNoPartOfTheDigest) {
  MasterHarness h;
  h.open(alice);
  h.call(alice, KeepAlive{});
  const std::uint64_t before = h.master().digest(h.now);
  StageTimes times;
  times.add(ClientStage::queue, 1ms);
  h.call(alice, KeepAlive{.stages = times.take_unsent()});
  EXPECT_EQ(h.master().digest(h.now), before);
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
