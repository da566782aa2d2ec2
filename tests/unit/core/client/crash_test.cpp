#include "tests/unit/core/client/client_fixture.h"

// A client that stops dead at any of its suspension points: the coroutine is destroyed there, its
// items and buffers are freed, and the rest of the world goes on. Under the address sanitizer that
// shows whatever would still have touched them.

namespace larder {
namespace {

using fakes::segment;

class Crash : public ClientTest {
 protected:
  // Everything that a call points at, on the heap, so that its end is seen.
  struct Memory {
    std::vector<std::string> keys;
    std::vector<std::string> values;
    std::vector<Slice> slices;
    std::vector<ConstSlice> const_slices;
    std::vector<PutItem> puts;
    std::vector<GetItem> gets;
  };
  static std::unique_ptr<Memory> memory(std::size_t items) {
    auto made = std::make_unique<Memory>();
    for (std::size_t i = 0; i < items; ++i) {
      made->keys.push_back("a key that is not short: " + std::to_string(i));
      made->values.push_back("a value that is not short: " + std::to_string(i));
    }
    for (std::string& value : made->values) {
      made->slices.push_back(bytes_of(value));
      made->const_slices.push_back(bytes_of(value));
    }
    for (std::size_t i = 0; i < items; ++i) {
      made->puts.push_back(
          {.key = made->keys[i], .value = {&made->const_slices[i], 1}, .replicas = 2});
      made->gets.push_back({.key = made->keys[i], .into = {&made->slices[i], 1}});
    }
    return made;
  }

  // Starts over with a new world for each suspension point until the call ends by itself; gives
  // the number of points. `prepare` sets the scene.
  template <class Prepare, class Start>
  std::size_t crash_everywhere(Prepare prepare, Start start) {
    for (std::size_t point = 0;; ++point) {
      Scene scene;
      prepare(scene);
      auto kept = memory(3);
      auto task = start(scene, *kept);
      task.start();
      for (std::size_t i = 0; i < point && !task.done(); ++i) EXPECT_TRUE(scene.world.step());
      const bool ended = task.done();
      const std::size_t in_flight = scene.nodes.in_flight();
      const std::size_t abandoned_before = scene.nodes.abandoned;
      {
        const auto destroyed = std::move(task);
      }
      EXPECT_EQ(scene.nodes.in_flight(), 0u);
      EXPECT_EQ(scene.nodes.abandoned - abandoned_before, in_flight);
      kept.reset();
      if (point % 2) scene.client.reset();  // the process dies, or only the call
      for (int i = 0; i < 1000 && scene.world.step(); ++i) {
      }
      EXPECT_EQ(scene.world.armed(), 0u);
      if (ended) return point;
    }
  }
};

TEST_F(Crash, APutCanBeDestroyedWhereverItWaits) {
  const std::size_t points = crash_everywhere(
      [](Scene& scene) {
        scene.master.places = {1, 2, 3, 4};
        scene.nodes.traits_to_set().transfer_bytes_max = 10_B;
        // Two nodes refuse, so that it starts once more; then a put in flight, so that it waits;
        // then a master that does not know it and another that recovers.
        scene.nodes.node(1).refuse = ErrorCode::busy;
        scene.nodes.node(2).dead = true;
        scene.master.say("PutStart",
                         [&](const Request& request) { return scene.master.usual(request); });
        scene.master.refuse("PutStart", ErrorCode::put_in_flight);
        scene.master.refuse("PutStart", ErrorCode::client_not_found);
        scene.master.say("PutEnd", [&](const Request& request) {
          scene.master.epoch = {6};
          return Reply{
              scene.master.epoch,
              std::vector<Answer>(answer_count(request.body), failed(ErrorCode::client_not_found))};
        });
        scene.master.refuse("PutEnd", ErrorCode::unavailable_in_current_status);
        scene.master.refuse("PutEnd", ErrorCode::invalid_write);
      },
      [](Scene& scene, Memory& kept) {
        return scene.client->put(kept.puts, {}, scene.world.now() + scene.within);
      });
  EXPECT_GE(points, 20u);
}

TEST_F(Crash, AGetCanBeDestroyedWhereverItWaits) {
  const std::size_t points = crash_everywhere(
      [](Scene& scene) {
        scene.master.places = {1, 2};
        const auto kept = memory(3);
        for (const auto& outcome :
             scene.run(scene.client->put(kept->puts, {}, scene.world.now() + scene.within))) {
          ASSERT_TRUE(outcome);
        }
        scene.renew({});
        scene.nodes.traits_to_set().transfer_bytes_max = 10_B;
        scene.nodes.traits_to_set().one_sided = true;
        scene.nodes.node(1).dead = true;
        // One key's bytes are bad on the node that lives: it asks again.
        const auto& object = scene.master.objects.begin()->second;
        scene.nodes.stored(object.replicas.at(1)).bytes[3] ^= 1;
        scene.master.refuse("GetReplicaList", ErrorCode::busy);
      },
      [](Scene& scene, Memory& kept) {
        return scene.client->get(kept.gets, scene.world.now() + scene.within);
      });
  EXPECT_GE(points, 8u);
}

TEST_F(Crash, TheScenesEndWellIfNobodyCrashes) {
  master.places = {1, 2, 3, 4};
  nodes.node(1).refuse = ErrorCode::busy;
  nodes.node(2).dead = true;
  const auto kept = memory(3);
  for (const auto& outcome : run(client->put(kept->puts, {}, world.now() + within))) {
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->replicas, 2u);
  }
}

TEST_F(Crash, ADestroyedGetGivesItsLeasesBack) {
  master.places = {1, 2};
  const auto kept = memory(3);
  ASSERT_TRUE(run(client->put(kept->puts, {}, world.now() + within)).at(0));
  {
    auto task = client->get(kept->gets, world.now() + within);
    task.start();
    ASSERT_TRUE(world.step());
    EXPECT_GE(nodes.in_flight(), 1u);
  }
  EXPECT_EQ(nodes.in_flight(), 0u);
  ASSERT_TRUE(run(client->keep_alive(world.now() + within)));
  EXPECT_EQ(master.requests("KeepAlive").at(0)->header.lease_returns.size(), 3u);
}

}  // namespace
}  // namespace larder
