#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/node/node.h"
#include "core/ports/transport.h"
#include "core/protocol/extent_shape.h"

// What the tests of a transport's contract need of the world that it is in: real sockets and
// threads, one process's memory, or virtual time.

namespace larder::contract {

// A transport, and behind it one node with one segment, which a master has taken in.
class World {
 public:
  virtual ~World() = default;
  virtual Transport& transport() = 0;
  virtual const SegmentDescription& segment() const = 0;
  virtual Epoch epoch() const = 0;  // that the node obeys
  // The clock of the transport's deadlines.
  virtual Time now() const = 0;
  // Lets the world go on until `done`, at most for `time`. Whether that came about.
  virtual bool run_until(const std::function<bool()>& done, Duration time) = 0;
  // The master asks the node to retire an extent.
  virtual void retire(const ExtentName& extent) = 0;
  virtual NodeStatus status() = 0;
  // One byte of the segment, to damage.
  virtual std::byte& stored(Bytes at) = 0;
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
  Object(const SegmentDescription& s, PutId put, std::size_t size, Bytes at)
      : segment(&s),
        key("key-" + std::to_string(put.counter)),
        put_id(put),
        offset(at),
        value(random_bytes(put.counter, size)) {
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
                     .record = {.tenant = "default", .key = key, .size = {value.size()}},
                     .part_length = {value.size()},
                     .checksum = checksum(value)},
            .from = slices,
            .result = &result};
  }

  // Reads [from, from + into.size()).
  ReadRange read(Bytes from, std::vector<std::byte>& into) { return read(from, Slice(into)); }
  ReadRange read(Bytes from, Slice into) {
    into_slice = into;
    return {.put_id = put_id,
            .segment = segment,
            .extent_offset = offset,
            .payload_size = {value.size()},
            .offset = from,
            .into = std::span(&into_slice, 1),
            .result = &result,
            .checksum = &got_checksum,
            .computed = &computed};
  }

  ExtentName extent() const { return {put_id, {segment->id, offset}}; }
  Bytes end() const { return offset + extent_shape({value.size()}).length; }

  const SegmentDescription* segment;
  std::string key;
  PutId put_id;
  Bytes offset;
  std::vector<std::byte> value;
  std::vector<ConstSlice> slices;
  Slice into_slice;
  Status result = failed(ErrorCode::internal_error, "not set");
  std::optional<std::uint64_t> got_checksum;
  std::optional<std::uint64_t> computed;
};

// A kind of world, and how to make one.
struct Kind {
  const char* name;
  std::unique_ptr<World> (*make)();
  // One-sided reads do not ask the node: it counts none, and the reader judges by the footer.
  bool node_is_asked = true;

  friend void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }
};

class TransportContract : public ::testing::TestWithParam<Kind> {
 protected:
  static constexpr Duration long_enough = std::chrono::seconds(20);

  Object object(std::uint64_t number, std::size_t size, Bytes at = 0_B) {
    return Object(world->segment(), {world->epoch(), number}, size, at);
  }

  void submit(Transfer transfer, Waiter& waiter, Duration time = long_enough) {
    world->transport().submit(std::move(transfer), world->now() + time, waiter);
  }
  bool run_until(const std::function<bool()>& done, Duration time = long_enough) {
    return world->run_until(done, time);
  }
  void run_for(Duration time) {
    world->run_until([] { return false; }, time);
  }
  // Runs one transfer to its end.
  Status run(Transfer transfer, Duration time = long_enough) {
    Waiter waiter;
    submit(std::move(transfer), waiter, time);
    EXPECT_FALSE(waiter.status) << "completed inside submit";
    run_until([&] { return waiter.status.has_value(); }, 2 * time + long_enough);
    return waiter.status.value_or(failed(ErrorCode::internal_error, "never completed"));
  }
  Fill fill_of(const std::vector<Object*>& objects) {
    Fill fill{.segment = &world->segment()};
    for (Object* each : objects) fill.ranges.push_back(each->fill());
    return fill;
  }
  Status put(const std::vector<Object*>& objects) { return run(fill_of(objects)); }

  // What is stored of an object, or an error.
  Result<std::vector<std::byte>> get(Object& object) {
    std::vector<std::byte> into(object.value.size());
    LARDER_CHECK(run(Read{{object.read(0_B, into)}}));
    LARDER_CHECK(object.result);
    return into;
  }
  std::size_t sealed() const {
    return world->status().extents[static_cast<std::size_t>(FillState::sealed)];
  }

  // Runs transfers of `make(number)` with ever shorter deadlines until one is too late.
  template <class Make>
  void run_too_late(Make make) {
    Duration time = std::chrono::milliseconds(16);
    for (std::uint64_t number = 1; number <= 20; ++number, time /= 2) {
      Waiter waiter;
      submit(make(number), waiter, time);
      ASSERT_TRUE(run_until([&] { return waiter.status.has_value(); }));
      if (*waiter.status) continue;
      EXPECT_EQ(waiter.status->error().code(), ErrorCode::transfer_fail);
      return;
    }
    FAIL() << "no deadline was too short";
  }

  std::unique_ptr<World> world = GetParam().make();
};

}  // namespace larder::contract
