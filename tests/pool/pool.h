#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/cluster/world.h"

namespace larder::sim {

using namespace std::chrono_literals;

// Remembers what the clients saw, and holds every value that was read against what was put.
class Witness final : public Observer {
 public:
  void put_began(OperationId, std::span<const PutWanted> items, WriteId first) override {
    for (std::size_t i = 0; i < items.size(); ++i) {
      writes_[items[i].key].insert(WriteId{first.value + i});
    }
  }
  void put_ended(OperationId id, std::span<const PutSeen> items) override {
    for (const PutSeen& item : items) note(id, item.result);
  }
  void get_ended(OperationId id, std::span<const GetSeen> items) override {
    for (const GetSeen& item : items) {
      note(id, item.result);
      if (!item.result || item.bytes.empty()) continue;
      ++values_read;
      last_read = {};
      for (const WriteId write : writes_[std::string(item.key)]) {
        if (holds_content(item.bytes, write, item.range_offset)) last_read = write;
      }
      if (last_read == WriteId{}) {
        violations.push_back("a get of " + std::string(item.key) + " gave " +
                             content_text(describe_content(item.bytes)));
      }
    }
  }
  void exists_ended(OperationId id, std::span<const std::string_view>,
                    std::span<const Result<Existence>> results) override {
    for (const auto& result : results) {
      note(id, result);
      found.push_back(result && result->exists);
    }
  }
  void remove_ended(OperationId id, std::span<const std::string_view>,
                    std::span<const Status> results) override {
    for (const auto& result : results) note(id, result);
  }
  void operation_lost(OperationId id) override { lost.insert(id); }
  void violation(const std::string& sentence) override { violations.push_back(sentence); }

  // The first error of an operation, empty if all went well; "pending" if it has not ended.
  std::string outcome(OperationId id) const {
    const auto place = outcomes_.find(id);
    return place == outcomes_.end() ? "pending" : place->second;
  }
  std::vector<std::string> violations;
  std::set<OperationId> lost;
  std::vector<bool> found;
  std::uint64_t values_read = 0;
  WriteId last_read;

 private:
  template <class Outcome>
  void note(OperationId id, const Outcome& result) {
    std::string& text = outcomes_[id];
    if (!result && text.empty()) text = result.error().message();
  }

  std::map<std::string, std::set<WriteId>> writes_;
  std::map<OperationId, std::string> outcomes_;
};

// One master, three nodes, two clients, each on a host of its own with a clock of its own.
struct Pool {
  struct Hardware {
    Bytes segment = 1_MiB;
    Bytes nic_per_second{12'500'000'000};
  };

  explicit Pool(const WorldConfig& config) : Pool(config, Hardware()) {}
  Pool(const WorldConfig& config, const Hardware& hardware)
      : world(with_small_chunks(config), witness), nic_per_second(hardware.nic_per_second) {
    master = &world.add_master(host("m", {.offset = 3s}));
    const std::int64_t drifts[] = {-4'000'000, 0, 4'000'000};
    for (int i = 0; i < 3; ++i) {
      nodes.push_back(&world.add_node(
          host("n" + std::to_string(i), {.offset = i * 7s, .parts_per_billion = drifts[i]}),
          *master, {.segments = {hardware.segment}}));
    }
    for (int i = 0; i < 2; ++i) {
      clients.push_back(&world.add_client(
          host("c" + std::to_string(i), {.offset = i * -5s, .parts_per_billion = drifts[2 * i]}),
          *master));
    }
    world.run_for(15s);  // a recovery time, and then some
  }
  static WorldConfig with_small_chunks(WorldConfig config) {
    config.network.chunk = 256_B;
    return config;
  }
  Host& host(const std::string& name, ClockError clock) {
    return world.add_host(HostSpec{.name = name, .nic_per_second = nic_per_second}, clock);
  }

  // Lets all operations end, and looks whether anything is wrong by then.
  void settle(Duration time = 60s) {
    EXPECT_TRUE(world.run_until_idle(time));
    world.check_invariants();
    EXPECT_TRUE(witness.violations.empty()) << witness.violations.front();
  }
  std::string put(ClientProcess& client, const std::string& key, Bytes size,
                  std::uint32_t replicas = 1) {
    const OperationId id = client.put({{.key = key, .size = size, .replicas = replicas}});
    settle();
    return witness.outcome(id);
  }
  std::string get(ClientProcess& client, const std::string& key, Bytes room) {
    const OperationId id = client.get({{.key = key, .room = room}});
    settle();
    return witness.outcome(id);
  }

  Witness witness;
  World world;
  Bytes nic_per_second;
  MasterProcess* master = nullptr;
  std::vector<NodeProcess*> nodes;
  std::vector<ClientProcess*> clients;
};

}  // namespace larder::sim
