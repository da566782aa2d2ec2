#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/protocol/extent_shape.h"
#include "real/rpc/listener.h"
#include "real/transport/local_transport.h"
#include "real/transport/node_host.h"
#include "real/transport/tcp_server.h"
#include "real/transport/tcp_transport.h"

// One node with one segment, the door to it, and a master that agrees to everything. For the tests
// of transports.

namespace larder::real::test {

inline constexpr Epoch epoch{5};

struct TestNode final : NodeHostUser, Doors {
  TestNode(Loop& l, Bytes memory) : loop(l) {
    NodeConfig config{.name = "node"};
    host = std::make_unique<NodeHost>(loop, config, IncarnationId{1, 1}, *this);
    EXPECT_TRUE(host->add_segment({.id = {2, 2}, .name = "m", .size = memory},
                                  MappedMemory::make(memory, {}).value()));
    server = std::make_unique<TcpServer>(loop, *host, TcpServerConfig{});
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

  bool serves(Role role) const override { return role == Role::data; }
  void enter(Role, Socket socket, Hello hello) override {
    server->adopt(std::move(socket), std::move(hello));
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
  std::unique_ptr<NodeHost> host;
  std::unique_ptr<TcpServer> server;
  std::unique_ptr<Listener> listener;
  SegmentDescription segment;
};

struct Waiter final : Completion {
  void complete(Status result) override {
    EXPECT_FALSE(status) << "completed twice";
    status = std::move(result);
  }
  std::optional<Status> status;
};

inline std::vector<std::byte> random_bytes(std::uint64_t seed, std::size_t size) {
  Random random(seed);
  std::vector<std::byte> bytes(size);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random.next());
  return bytes;
}

// An object of the test: its value, cut into slices, and where it goes.
struct Object {
  Object(const SegmentDescription& s, std::uint64_t number, std::size_t size, Bytes at)
      : segment(&s),
        key("key-" + std::to_string(number)),
        put_id{epoch, number},
        offset(at),
        value(random_bytes(number, size)) {
    cut(value.size());
  }

  // The value in slices of `piece` bytes.
  void cut(std::size_t piece) {
    slices.clear();
    for (std::size_t at = 0; at < value.size(); at += piece) {
      slices.push_back(ConstSlice(value).subspan(at, std::min(piece, value.size() - at)));
    }
  }

  FillRange fill() {
    return {.item = {.put_id = put_id,
                     .location = {segment->id, offset},
                     .record = {.tenant = "t", .key = key, .size = {value.size()}},
                     .part_length = {value.size()},
                     .checksum = checksum(value)},
            .from = slices,
            .result = &result};
  }

  // Reads [from, from + into.size()).
  ReadRange read(Bytes from, std::vector<std::byte>& into) {
    into_slice = Slice(into);
    return {.put_id = put_id,
            .segment = segment,
            .extent_offset = offset,
            .payload_size = {value.size()},
            .offset = from,
            .into = std::span(&into_slice, 1),
            .result = &result,
            .checksum = &got_checksum};
  }

  Bytes end() const {
    const ExtentShape shape = extent_shape({value.size()});
    return offset + shape.length;
  }

  const SegmentDescription* segment;
  std::string key;
  PutId put_id;
  Bytes offset;
  std::vector<std::byte> value;
  std::vector<ConstSlice> slices;
  Slice into_slice;
  Status result = failed(ErrorCode::internal_error, "not set");
  std::optional<std::uint64_t> got_checksum;
};

}  // namespace larder::real::test
