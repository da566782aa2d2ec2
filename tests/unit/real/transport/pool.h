#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "real/rpc/listener.h"
#include "real/transport/local_transport.h"
#include "real/transport/node_host.h"
#include "real/transport/tcp_server.h"
#include "real/transport/tcp_transport.h"
#include "tests/contract/world.h"

// One node with one segment, the door to it, and a master that agrees to everything. For the tests
// of transports.

namespace larder::real::test {

inline constexpr Epoch epoch{5};

struct TestNode final : NodeHostUser, Doors {
  explicit TestNode(Loop& l, Bytes memory, TcpServerConfig tcp = {})
      : TestNode(l, l, memory, tcp) {}
  // Its bytes are moved on `data`, which may run on another thread.
  TestNode(Loop& l, Loop& data, Bytes memory, TcpServerConfig tcp = {}) : loop(l), data_loop(data) {
    NodeConfig config{.name = "node"};
    host = std::make_unique<NodeHost>(loop, config, IncarnationId{1, 1}, *this);
    EXPECT_TRUE(host->add_segment({.id = {2, 2}, .name = "m", .size = memory},
                                  MappedMemory::make(memory, {}).value()));
    server = std::make_unique<TcpServer>(data_loop, *host, std::move(tcp));
    listener = std::move(*Listener::make(loop, {.endpoint = {"127.0.0.1", 0}}, *this));
    segment = {.id = {2, 2},
               .incarnation = {1, 1},
               .name = "m",
               .size = memory,
               .endpoint = to_string(listener->endpoint())};
    host->use([](Node& node, Time now, NodeEffects& effects) { node.connected(now, effects); });
    const auto obeys = [&] {
      return host->use(
          [](Node& node, Time now, NodeEffects&) { return node.status(now).reported; });
    };
    loop.run_until(obeys, loop.now() + std::chrono::seconds(10));
    EXPECT_TRUE(obeys());
  }

  void send(std::uint64_t ticket, const Request& request) override {
    Answer answer = Done{};
    if (std::holds_alternative<RegisterNode>(request.body)) {
      answer = NodeRegistered{.epoch = epoch,
                              .instance = {9, 9},
                              .heartbeat = std::chrono::seconds(1),
                              .lowest_unfinished = {}};
    }
    const auto* report = std::get_if<ReportInventory>(&request.body);
    host->use([&](Node& node, Time now, NodeEffects& effects) {
      node.answered(now, ticket, answer, effects);
      if (report == nullptr || !report->last) return;
      node.command(now,
                   {.incarnation = {1, 1},
                    .epoch = epoch,
                    .instance = {9, 9},
                    .body = InventoryTaken{report->registration}},
                   effects);
    });
  }
  void reconnect() override { ADD_FAILURE() << "the master is the right one"; }
  void finished() override { ADD_FAILURE() << "nobody gave the node up"; }

  Status admits(Role role) const override {
    if (role == Role::data) return {};
    return failed(ErrorCode::not_supported, "no master listens here");
  }
  void enter(Role, Socket socket, Hello hello) override {
    data_loop.post([this, socket = std::move(socket), hello = std::move(hello)]() mutable {
      server->adopt(std::move(socket), std::move(hello));
    });
  }

  void retire(PutId put_id, Bytes offset) {
    host->use([&](Node& node, Time now, NodeEffects& effects) {
      node.command(now,
                   {.incarnation = {1, 1},
                    .epoch = epoch,
                    .instance = {9, 9},
                    .body = RetireExtents{{{put_id, {segment.id, offset}}}}},
                   effects);
    });
  }
  NodeStatus status() {
    return host->use([](Node& node, Time now, NodeEffects&) {
      node.check_invariants();
      return node.status(now);
    });
  }

  Loop& loop;
  Loop& data_loop;
  std::unique_ptr<NodeHost> host;
  std::unique_ptr<TcpServer> server;
  std::unique_ptr<Listener> listener;
  SegmentDescription segment;
};

using contract::random_bytes;
using contract::Waiter;

struct Object : contract::Object {
  Object(const SegmentDescription& s, std::uint64_t number, std::size_t size, Bytes at)
      : contract::Object(s, {epoch, number}, size, at) {}
};

}  // namespace larder::real::test
