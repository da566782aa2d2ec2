#include "sim/fabric/content.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <vector>

#include "core/base/random.h"
#include "sim/fabric/fair_share.h"
#include "sim/fabric/network.h"

namespace larder::sim {
namespace {

std::vector<std::byte> value_of(WriteId write, std::size_t size) {
  std::vector<std::byte> bytes(size);
  write_content(bytes, write);
  return bytes;
}

PutId put(std::uint64_t counter) { return {Epoch{1}, counter}; }

TEST(Content, AValueWrittenInPiecesOfAnySizeIsWhole) {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::byte> bytes(1 + random.below(300));
    for (std::size_t done = 0; done < bytes.size();) {
      const std::size_t piece = 1 + random.below(bytes.size() - done);
      write_content(std::span(bytes).subspan(done, piece), WriteId{7}, {done});
      done += piece;
    }
    EXPECT_TRUE(holds_content(bytes, WriteId{7}));
    EXPECT_FALSE(holds_content(bytes, WriteId{8}));
    if (bytes.size() < 8) continue;
    EXPECT_EQ(describe_content(bytes),
              (std::vector<ContentRun>{{.length = {bytes.size()}, .write = WriteId{7}}}));
  }
}

TEST(Content, MixedMissingAndMisplacedWordsAreSeen) {
  std::vector<std::byte> bytes = value_of(WriteId{3}, 64);
  write_content(std::span(bytes).subspan(16, 16), WriteId{4}, 16_B);
  write_content(std::span(bytes).subspan(40, 8), WriteId{3}, 0_B);
  std::fill_n(bytes.begin() + 56, 8, std::byte{0});
  const std::vector<ContentRun> expected{
      {0_B, 16_B, WriteId{3}, 0_B}, {16_B, 16_B, WriteId{4}, 16_B}, {32_B, 8_B, WriteId{3}, 32_B},
      {40_B, 8_B, WriteId{3}, 0_B}, {48_B, 8_B, WriteId{3}, 48_B},  {56_B, 8_B, WriteId{0}, 0_B}};
  EXPECT_EQ(describe_content(bytes), expected);
  EXPECT_EQ(content_text(std::span(expected).first(2)),
            "[0, 16) of write 3 from 0; [16, 32) of write 4 from 16");
}

TEST(Content, AFlippedTailIsSeen) {
  std::vector<std::byte> bytes = value_of(WriteId{3}, 13);
  EXPECT_EQ(describe_content(bytes).size(), 1u);
  bytes[12] ^= std::byte{1};
  EXPECT_FALSE(holds_content(bytes, WriteId{3}));
  EXPECT_EQ(describe_content(bytes).size(), 2u);
}

TEST(StampMap, AgreesWithAnArrayOfBytes) {
  struct Origin {
    PutId put;
    std::uint64_t position;
  };
  constexpr std::size_t size = 200;
  Random random(5);
  StampMap map;
  std::array<std::optional<Origin>, size> bytes;
  for (int round = 0; round < 20'000; ++round) {
    const std::uint64_t at = random.below(size);
    const std::uint64_t length = random.below(std::min<std::uint64_t>(size - at, 40) + 1);
    if (random.chance(0.2)) {
      map.erase({at}, {length});
      for (std::uint64_t byte = at; byte < at + length; ++byte) bytes[byte].reset();
    } else {
      // Few puts, each mostly at one place, so that stamps meet and join.
      const PutId writer = put(1 + random.below(3));
      const std::uint64_t position = at + (random.chance(0.1) ? 8 : 0);
      map.write({{at}, {length}, writer, {position}});
      for (std::uint64_t byte = 0; byte < length; ++byte) {
        bytes[at + byte] = Origin{writer, position + byte};
      }
    }
    const std::uint64_t from = random.below(size);
    const std::uint64_t wanted = random.below(size - from + 1);
    std::vector<Stamp> expected;
    for (std::uint64_t byte = from; byte < from + wanted; ++byte) {
      if (!bytes[byte]) continue;
      const auto [writer, position] = *bytes[byte];
      if (!expected.empty() && expected.back().put == writer &&
          expected.back().at.value + expected.back().length.value == byte &&
          expected.back().position + expected.back().length == Bytes{position}) {
        expected.back().length += 1_B;
      } else {
        expected.push_back({{byte}, 1_B, writer, {position}});
      }
    }
    ASSERT_EQ(map.read({from}, {wanted}), expected);
  }
}

TEST(StampMap, APayloadWrittenChunkByChunkInAnyOrderIsOneStamp) {
  StampMap map;
  for (const std::uint64_t chunk : {3u, 0u, 2u, 1u}) {
    map.write({{1000 + chunk * 100}, 100_B, put(9), {chunk * 100}});
  }
  EXPECT_EQ(map.size(), 1u);
  EXPECT_TRUE(map.holds({1000_B, 400_B, put(9), 0_B}));
  EXPECT_FALSE(map.holds({1000_B, 401_B, put(9), 0_B}));
}

// Copies segment bytes to a buffer over the network, as a one-sided read does.
class ReadFlow final : public Flow {
 public:
  ReadFlow(Network& network, const Plan& plan, const TrackedMemory& from)
      : Flow(network, plan), buffer(plan.length.value), from_(from) {}
  std::vector<std::byte> buffer;
  StampMap stamps;

 private:
  void copy(Bytes offset, Bytes length) override {
    std::ranges::copy(from_.bytes(offset, length),
                      buffer.begin() + static_cast<std::ptrdiff_t>(offset.value));
    for (const Stamp& stamp : from_.stamps().read(offset, length)) stamps.write(stamp);
  }
  void corrupt(Bytes) override {}
  void finish() override {}
  const TrackedMemory& from_;
};

class FillFlow final : public Flow {
 public:
  FillFlow(Network& network, const Plan& plan, TrackedMemory& into, WriteId write, PutId as)
      : Flow(network, plan), from_(value_of(write, plan.length.value)), into_(into), put_(as) {}

 private:
  void copy(Bytes offset, Bytes length) override {
    into_.write({offset, length, put_, offset},
                std::span(from_).subspan(offset.value, length.value));
  }
  void corrupt(Bytes) override {}
  void finish() override {}
  std::vector<std::byte> from_;
  TrackedMemory& into_;
  PutId put_;
};

TEST(TrackedMemory, AReadThatMeetsAnOverwriteIsTornInBytesAndStamps) {
  Kernel kernel(1);
  Network network(kernel, {.chunk = 256_B}, std::make_unique<FairShare>());
  for (int host = 0; host < 3; ++host) network.add_host({});
  constexpr Bytes size = 16_KiB;
  TrackedMemory memory(size);
  memory.write({0_B, size, put(1), 0_B}, value_of(WriteId{1}, size.value));

  ReadFlow before(network, {.route = {HostId{0}, HostId{1}}, .length = size}, memory);
  before.start();
  kernel.run(1000);
  EXPECT_TRUE(holds_content(before.buffer, WriteId{1}));
  EXPECT_TRUE(before.stamps.holds({0_B, size, put(1), 0_B}));

  ReadFlow during(network, {.route = {HostId{0}, HostId{1}}, .length = size}, memory);
  FillFlow fill(network, {.route = {HostId{2}, HostId{0}}, .length = size}, memory, WriteId{2},
                put(2));
  during.start();
  fill.start();
  kernel.run(1000);
  const std::vector<ContentRun> runs = describe_content(during.buffer);
  EXPECT_GT(runs.size(), 2u);
  bool old_seen = false, new_seen = false;
  for (const ContentRun& run : runs) {
    old_seen |= run.write == WriteId{1};
    new_seen |= run.write == WriteId{2};
    EXPECT_EQ(run.at, run.position);
  }
  EXPECT_TRUE(old_seen && new_seen) << content_text(runs);
  EXPECT_EQ(during.stamps.read(0_B, size).size(), runs.size());

  ReadFlow after(network, {.route = {HostId{0}, HostId{1}}, .length = size}, memory);
  after.start();
  kernel.run(1000);
  EXPECT_TRUE(holds_content(after.buffer, WriteId{2}));
  EXPECT_TRUE(after.stamps.holds({0_B, size, put(2), 0_B}));
}

TEST(TrackedMemory, PlainBytesHaveNoStamp) {
  TrackedMemory memory(1_KiB);
  memory.write({0_B, 256_B, put(1), 0_B}, value_of(WriteId{1}, 256));
  const std::array<std::byte, 64> footer{std::byte{1}};
  memory.write_plain(192_B, footer);
  EXPECT_EQ(memory.stamps().read(0_B, 1_KiB), (std::vector<Stamp>{{0_B, 192_B, put(1), 0_B}}));
  EXPECT_EQ(memory.bytes(192_B, 1_B).front(), std::byte{1});
}

}  // namespace
}  // namespace larder::sim
