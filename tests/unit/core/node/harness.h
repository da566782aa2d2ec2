#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "core/node/node.h"

namespace larder::test {

using namespace std::chrono_literals;

// Remembers the footers as memory would, and refuses to write one where it could not stand.
class Footers final : public SegmentMemory {
 public:
  void write_footer(ReplicaLocation at, const FooterBytes& footer) override {
    EXPECT_EQ(at.offset.value % 64, 0u);
    if (footer == FooterBytes{}) {
      valid.erase(at);
    } else {
      valid[at] = decode_footer(footer).value();
    }
  }
  std::map<ReplicaLocation, Footer> valid;
};

inline constexpr SegmentId segment_a{.high = 1, .low = 0xa};
inline constexpr SegmentId segment_b{.high = 1, .low = 0xb};
inline constexpr IncarnationId incarnation{.high = 2, .low = 1};
inline constexpr InstanceId instance{.high = 3, .low = 1};
inline constexpr Epoch epoch{10};
inline constexpr ConnectionId writer{1};

inline PutId put(std::uint64_t counter, Epoch of = epoch) { return {of, counter}; }

// One node with two segments of 64 KiB, and the other side of everything that it talks to.
struct Bench {
  explicit Bench(NodeConfig config = {})
      : node(with_names(std::move(config)), incarnation, footers) {
    for (const SegmentId id : {segment_a, segment_b}) {
      EXPECT_TRUE(node.add_segment(now, {.id = id, .name = "s", .size = 64_KiB}, effects));
    }
  }

  static NodeConfig with_names(NodeConfig config) {
    config.name = "node";
    config.endpoint = "127.0.0.1:1";
    return config;
  }

  // The only request of that kind among what was sent since take() last emptied it.
  template <class Body>
  const Body& sent() const {
    const Body* found = nullptr;
    for (const auto& send : effects.send) {
      if (const auto* body = std::get_if<Body>(&send.request.body)) {
        EXPECT_EQ(found, nullptr) << "more than one";
        found = body;
      }
    }
    if (found == nullptr) throw std::runtime_error("no such request was sent");
    return *found;
  }
  template <class Body>
  bool has_sent() const {
    for (const auto& send : effects.send) {
      if (std::holds_alternative<Body>(send.request.body)) return true;
    }
    return false;
  }
  std::uint64_t last_ticket() const { return effects.send.back().ticket; }

  // Answers the last request that was sent, and drops what was sent before.
  void answer_last(Answer answer) {
    const std::uint64_t ticket = last_ticket();
    effects.clear();
    node.answered(now, ticket, answer, effects);
    node.check_invariants();
  }
  NodeRegistered accepted(Epoch of = epoch, InstanceId by = instance) const {
    return {.epoch = of, .instance = by, .heartbeat = 1s};
  }
  // Connects, registers and has an (empty or short) inventory taken.
  void join(Epoch of = epoch, InstanceId by = instance) {
    node.connected(now, effects);
    answer_last(accepted(of, by));
    while (!node.status(now).reported) answer_last(Done{});
    command(InventoryTaken{node.status(now).registration}, of, by);
    effects.clear();
  }
  void command(CommandBody body, Epoch of = epoch, InstanceId by = instance, PutId lowest = {}) {
    node.command(now,
                 {.incarnation = incarnation,
                  .epoch = of,
                  .instance = by,
                  .lowest_unfinished = lowest,
                  .body = std::move(body)},
                 effects);
    node.check_invariants();
  }
  void retire(ExtentName name) { command(RetireExtents{{name}}); }

  static FillItem item(PutId id, Bytes offset = 0_B, Bytes size = 1000_B,
                       SegmentId segment = segment_a) {
    return {
        .put_id = id,
        .location = {.segment = segment, .offset = offset},
        .record = {.tenant = "t", .key = "key", .group = "group", .parent = "parent", .size = size},
        .part_offset = 0_B,
        .part_length = size,
        .checksum = 77};
  }
  static ExtentName name(const FillItem& item) { return {item.put_id, item.location}; }

  Result<FillBegun> begin(const FillItem& item, ConnectionId connection = writer) {
    auto begun = node.begin_fill(now, item, connection);
    node.check_invariants();
    return begun;
  }
  Status seal(FillId id, std::uint64_t computed = 77, bool waits = true) {
    Status status =
        node.seal(now, id, {.expected = {}, .computed = computed, .writer_waits = waits}, effects);
    node.check_invariants();
    return status;
  }
  // A whole put.
  void store(const FillItem& item) {
    const auto begun = begin(item);
    ASSERT_TRUE(begun) << begun.error().message();
    ASSERT_TRUE(seal(begun->id));
  }
  Result<ReadBegun> read(const ExtentName& extent, Bytes offset = 0_B, Bytes length = 1000_B) {
    return node.begin_read(
        now, {.extent = extent, .tenant = std::nullopt, .offset = offset, .length = length});
  }
  void end_read(ReadId id) {
    node.end_read(now, id, effects);
    node.check_invariants();
  }
  void end_fill(FillId id) {
    node.end_fill(now, id, effects);
    node.check_invariants();
  }
  void tick(Duration passed = Duration(0)) {
    now += passed;
    node.tick(now, effects);
    node.check_invariants();
  }
  std::uint64_t count(FillState state) const {
    return node.status(now).extents[static_cast<std::size_t>(state)];
  }

  Footers footers;
  Time now{1000s};
  NodeEffects effects;
  Node node;
};

template <class T>
ErrorCode code(const Result<T>& result) {
  if (result) {
    ADD_FAILURE() << "it succeeded";
    return {};
  }
  return result.error().code();
}

}  // namespace larder::test
